import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Secret } from '../../platform/secrets/secret.ts'
import { createRunCommand } from '../shell/run-command.ts'
import type { CheckoutOptions } from './checkout-settings.ts'
import { createGit, type Git } from './git.ts'
import { RemoteRefused } from './git-errors.ts'
import { submoduleUrl } from './submodule-url.ts'
import { type GitServer, startGitServer } from './test-git-server.ts'
import { TestRepository } from './test-repository.ts'

const run = createRunCommand(process.env)
const token = 'canary-of-named-sources'
let base: string
let server: GitServer
let other: GitServer
let git: Git
let count = 0

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'berth-named-'))
  server = await startGitServer(run, join(base, 'repositories'))
  other = await startGitServer(run, join(base, 'repositories'))
  git = createGit({ shell: run, workFolder: join(base, 'work') })
})
afterAll(async () => {
  await Promise.all([server.close(), other.close()])
  await rm(base, { recursive: true, force: true })
})
beforeEach(() => {
  Object.assign(server, { password: token, intercept: null, requests: [] })
  Object.assign(other, { password: null, intercept: null, requests: [] })
})

const repository = (name: string) => new TestRepository(run, join(base, 'repositories', `${name}.git`)).create()

/** A repository that names another one at `url` under `libs/part`. */
async function naming(url: string, commit: string, path = 'libs/part'): Promise<string> {
  const name = `naming-${++count}`
  const one = await repository(name)
  const text = `[submodule "part"]\n\tpath = ${path}\n\turl = ${url}\n`
  const head = await one.commit('main', { 'index.js': 'whole', '.gitmodules': text })
  const blobs = (await one.git('ls-tree', head)).trim().split('\n')
  const entries = blobs.map((line) => {
    const [meta, file] = line.split('\t') as [string, string]
    const [mode, kind, id] = meta.split(' ') as [string, string, string]
    return { mode, kind, id, name: file }
  })
  const inner = await one.folderOf([{ mode: '160000', kind: 'commit', id: commit, name: path.split('/').at(-1)! }])
  const tree = path.includes('/')
    ? await one.folderOf([...entries, { mode: '040000', kind: 'tree', id: inner, name: path.split('/')[0]! }])
    : await one.folderOf([...entries, { mode: '160000', kind: 'commit', id: commit, name: path }])
  await one.git('update-ref', 'refs/heads/main', (await one.git('commit-tree', tree, '-m', 'names another')).trim())
  return `${server.url}/${name}.git`
}

const credential = { token: new Secret(token) }
const sameHostOnly: CheckoutOptions['credentialFor'] = async (url) => (url.startsWith(server.url) ? credential : undefined)
const checkOut = async (url: string, options: CheckoutOptions = { credentialFor: sameHostOnly }, from = git) => {
  const into = join(base, `into-${++count}`)
  const result = await from.checkout({ url, credential }, { branch: 'main' }, into, options)
  return { ...result, into }
}

describe('submodules', () => {
  test('are checked out at exactly the named commit, also nested ones, without .git', async () => {
    const part = await repository('part')
    const wanted = await part.commit('main', { 'part.js': 'first' })
    await part.commit('main', { 'part.js': 'second' })
    const middle = await naming('../part.git', wanted)
    const middleHead = (await git.remoteHead({ url: middle, credential }, 'main'))!
    const { into, warnings } = await checkOut(await naming(`../${middle.split('/').at(-1)}`, middleHead))
    expect(warnings).toEqual([])
    expect(await readFile(join(into, 'libs/part/libs/part/part.js'), 'utf8')).toBe('first')
    const left = await readdir(into, { recursive: true })
    expect(left.filter((name) => name.split('/').includes('.git'))).toEqual([])
  })

  test('at another host get no token', async () => {
    const part = await repository('elsewhere')
    const { into } = await checkOut(await naming(`${other.url}/elsewhere.git`, await part.commit('main', { a: 'there' })))
    expect(await readFile(join(into, 'libs/part/a'), 'utf8')).toBe('there')
    expect(other.requests.length).toBeGreaterThan(0)
    expect(other.requests.filter(({ authorization }) => authorization)).toEqual([])
  })

  test('without `credentialFor` get no token at the same host either', async () => {
    const part = await repository('private')
    const url = await naming('../private.git', await part.commit('main', { a: 'private' }))
    await expect(checkOut(url, {})).rejects.toThrow(/The submodule libs\/part could not be fetched/)
  })

  test.each([['file:///etc'], ['ext::sh -c id'], ['/etc'], ['--upload-pack=id'], ['http://10.0.0.1/a.git']])(
    'an invalid address is not contacted: %s',
    async (address) => {
      await expect(checkOut(await naming(address, 'a'.repeat(40)))).rejects.toThrow(
        /libs\/part could not be fetched: The git address/,
      )
    },
  )

  test('a host that is not permitted is not contacted', async () => {
    const part = await repository('inside')
    const url = await naming(
      `${other.url.replace('127.0.0.1', 'inside.localhost')}/inside.git`,
      await part.commit('main', { a: 'x' }),
    )
    const guarded = createGit({
      shell: run,
      workFolder: join(base, 'work-guarded'),
      permittedAddresses: async (host) => {
        if (host === '127.0.0.1') return [host]
        throw new RemoteRefused('is not a public address')
      },
    })
    await expect(checkOut(url, {}, guarded)).rejects.toThrow('is not a public address')
    expect(other.requests).toEqual([])
  })

  test('a submodule without an address is left empty, with a warning', async () => {
    const one = await repository('unmapped')
    const head = await one.commit('main', { a: '1' })
    const [, , id] = (await one.git('ls-tree', head)).trim().split(/\s/)
    const tree = await one.folderOf([
      { mode: '100644', kind: 'blob', id: id!, name: 'a' },
      { mode: '160000', kind: 'commit', id: 'b'.repeat(40), name: 'gone' },
    ])
    await one.git('update-ref', 'refs/heads/main', (await one.git('commit-tree', tree, '-m', 'x')).trim())
    const { warnings } = await checkOut(`${server.url}/unmapped.git`)
    expect(warnings).toEqual([expect.stringContaining('gone is left empty')])
  })

  test.each([
    ['../part.git', 'https://git.example/acme/shop.git', 'https://git.example/acme/part.git'],
    ['./part', 'https://git.example/acme/shop', 'https://git.example/acme/shop/part'],
    ['../part.git', 'git@git.example:acme/shop.git', 'git@git.example:acme/part.git'],
    ['git@git.example:acme/part.git', 'https://git.example/acme/shop.git', 'https://git.example/acme/part.git'],
    ['ssh://git@git.example/acme/part.git', 'https://git.example/acme/shop.git', 'https://git.example/acme/part.git'],
    ['git@other.example:acme/part.git', 'https://git.example/acme/shop.git', 'git@other.example:acme/part.git'],
  ])('%s named by %s is %s', (written, parent, expected) => {
    expect(submoduleUrl(written, parent)).toBe(expected)
  })
})

describe('files in Git LFS', () => {
  const content = 'large '.repeat(1000)
  const oid = createHash('sha256').update(content).digest('hex')
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${content.length}\n`
  let requested: { path: string; authorization: string | undefined }[]

  /** The batch call after the public document of Git LFS; `href` says where the object is. */
  const serveObjects = (href: (oid: string) => string, body = content) => {
    const answer = (request: IncomingMessage, response: ServerResponse) => {
      const { url = '', headers } = request
      if (!url.includes('/info/lfs/') && !url.startsWith('/object/')) return false
      requested.push({ path: url, authorization: headers.authorization })
      if (url.startsWith('/object/')) return Boolean(response.writeHead(200).end(body))
      const objects = [{ oid, size: content.length, actions: { download: { href: href(oid) } } }]
      return Boolean(response.writeHead(200, { 'content-type': 'application/vnd.git-lfs+json' }).end(JSON.stringify({ objects })))
    }
    server.intercept = answer
    other.intercept = answer
  }
  const large = async () => {
    const name = `large-${++count}`
    const attributes = '*.bin filter=lfs diff=lfs merge=lfs -text\n'
    await (await repository(name)).commit('main', { '.gitattributes': attributes, 'a/b.bin': pointer, 'plain.txt': 'x' })
    return `${server.url}/${name}.git`
  }
  beforeEach(() => {
    requested = []
  })

  test('are downloaded, and the token is sent to the host of the repository only', async () => {
    serveObjects((id) => `${other.url}/object/${id}`)
    const { into, warnings } = await checkOut(await large())
    expect(warnings).toEqual([])
    expect(await readFile(join(into, 'a/b.bin'), 'utf8')).toBe(content)
    const [batch, object] = requested
    expect(Buffer.from(batch!.authorization!.slice(6), 'base64').toString()).toBe(`x-access-token:${token}`)
    expect([object!.path, object!.authorization]).toEqual([`/object/${oid}`, undefined])
  })

  test('a file that does not match its pointer is refused and leaves no files', async () => {
    serveObjects((id) => `${server.url}/object/${id}`, content.replace('large', 'other'))
    const url = await large()
    const into = join(base, 'refused')
    await expect(git.checkout({ url, credential }, { branch: 'main' }, into)).rejects.toThrow(
      'not the one that its pointer names',
    )
    await expect(readdir(into)).rejects.toThrow()
  })

  test.each([['file:///etc/passwd'], ['http://10.0.0.1/x'], ['ssh://git@git.example/x']])(
    'an invalid address is not contacted: %s',
    async (href) => {
      serveObjects(() => href)
      await expect(checkOut(await large())).rejects.toThrow('The git address')
      expect(requested).toHaveLength(1)
    },
  )

  test('over the size limit are refused before anything is downloaded', async () => {
    serveObjects((id) => `${server.url}/object/${id}`)
    await expect(checkOut(await large(), { maxBytes: 3_000 })).rejects.toThrow('exceed the size limit')
    expect(requested).toEqual([])
  })
})
