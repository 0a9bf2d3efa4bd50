import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Secret } from '../../platform/secrets/secret.ts'
import { createRunCommand } from '../shell/run-command.ts'
import { createGit, type Git } from './git.ts'
import { GitAuthFailed, GitUnreachable, RemoteRefused } from './git-errors.ts'
import { type GitServer, startGitServer } from './test-git-server.ts'
import { TestRepository } from './test-repository.ts'

const token = `canary-${'k7Qz'.repeat(6)} "$(id)'\\`
const run = createRunCommand(process.env)
let base: string
let server: GitServer
let other: GitServer
let git: Git
let commits: string[]

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'berth-git-credential-'))
  const repository = await new TestRepository(run, join(base, 'repositories', 'app.git')).create()
  commits = [await repository.commit('main', { a: '1' }), await repository.commit('main', { a: '2' })]
  server = await startGitServer(run, join(base, 'repositories'))
  other = await startGitServer(run, join(base, 'repositories'))
  git = createGit({ shell: run, workFolder: join(base, 'work') })
})
afterAll(async () => {
  await Promise.all([server.close(), other.close()])
  await rm(base, { recursive: true, force: true })
})
beforeEach(() => {
  Object.assign(server, { password: token, intercept: null, delayMs: 0, requests: [] })
  Object.assign(other, { password: token, intercept: null, delayMs: 0, requests: [] })
})

const remote = () => ({ url: `${server.url}/app.git`, credential: { username: 'ann', token: new Secret(token) } })

test('the token gives access to a private repository for every operation', async () => {
  expect((await git.listRefs(remote())).defaultBranch).toBe('main')
  expect(await git.remoteHead(remote(), 'main')).toBe(commits[1])
  expect(await git.commitsBetween(remote(), commits[0]!, commits[1]!)).toBe(1)
  expect(await git.recentCommits(remote(), 'main', 5)).toHaveLength(2)
  await git.checkout(remote(), { branch: 'main' }, join(base, 'into'))
  expect(await readFile(join(base, 'into', 'a'), 'utf8')).toBe('2')
  const sent = server.requests.flatMap(({ authorization }) => (authorization ? [authorization] : []))
  expect(new Set(sent)).toEqual(new Set([`Basic ${Buffer.from(`ann:${token}`).toString('base64')}`]))
})

describe('the token appears only in the request', () => {
  const forms = [token, encodeURIComponent(token), Buffer.from(`ann:${token}`).toString('base64')]

  test('while git runs, no argument or variable of a process contains it', async () => {
    server.delayMs = 40
    let over = false
    const checking = git
      .checkout({ ...remote() }, { commit: commits[0]! }, join(base, 'sampled'), { keepGitFolder: true })
      .finally(() => {
        over = true
      })
    const programs = new Set<string>()
    const found: string[] = []
    while (!over) {
      for (const [path, text] of await processTexts()) {
        if (path.endsWith('cmdline')) programs.add(text.split('\0')[0]!.split('/').at(-1)!)
        if (forms.some((form) => text.includes(form))) found.push(`${path}: ${text.split('\0')[0]}`)
      }
    }
    await checking
    expect([...programs]).toEqual(expect.arrayContaining(['git']))
    expect([...programs].some((program) => program.startsWith('git-remote-http'))).toBe(true)
    expect(found).toEqual([])
  })

  test('no URL, progress line or remaining file contains it, including a kept .git', async () => {
    const progress: string[] = []
    const into = join(base, 'kept')
    await git.checkout(remote(), { branch: 'main' }, into, { keepGitFolder: true, onProgress: (line) => progress.push(line) })
    expect(progress.length).toBeGreaterThan(0)
    expect(server.requests.length).toBeGreaterThan(0)
    const texts = [
      ...progress,
      ...server.requests.map(({ url }) => url),
      ...(await textsBelow(into)),
      ...(await textsBelow(join(base, 'work'))),
    ]
    for (const form of forms) expect(texts.filter((text) => text.includes(form))).toEqual([])
    expect(await readdir(join(base, 'work', 'run'))).toEqual([])
  })

  test('it is removed from progress lines of the host', async () => {
    const echoing = await new TestRepository(run, join(base, 'repositories', 'echoing.git')).create()
    await echoing.commit('main', { a: '1' })
    const hook = join(base, 'hook')
    await writeFile(hook, `#!/bin/sh\ncat >&2 "${base}/message"\nexec "$@"\n`, { mode: 0o755 })
    await writeFile(join(base, 'message'), `thank you for ${token}\n`)
    await writeFile(join(base, 'server-config'), `[uploadpack]\n\tpackObjectsHook = "${hook}"\n`)
    const echoingServer = await startGitServer(run, join(base, 'repositories'), {
      GIT_CONFIG_GLOBAL: join(base, 'server-config'),
    })
    const progress: string[] = []
    try {
      const onProgress = (line: string) => void progress.push(line)
      await git.checkout({ ...remote(), url: `${echoingServer.url}/echoing.git` }, {}, join(base, 'echoed'), { onProgress })
    } finally {
      await echoingServer.close()
    }
    expect(progress).toContain('remote: thank you for [secret]')
  })

  test('no error contains it, even if the host echoes it', async () => {
    server.intercept = (request, response) => {
      const sent = Buffer.from(request.headers.authorization?.slice(6) ?? '', 'base64').toString()
      const authenticate = { 'www-authenticate': 'Basic realm="git"' }
      if (!sent) return Boolean(response.writeHead(401, authenticate).end())
      const message = `you sent ${sent} (${request.headers.authorization}) to https://ann:${encodeURIComponent(token)}@host/`
      return Boolean(response.writeHead(403, { 'content-type': 'text/plain' }).end(message))
    }
    const error = await git.listRefs(remote()).catch((failure) => failure)
    expect(error).toBeInstanceOf(GitAuthFailed)
    expect(error.detail).toContain('you sent')
    const shown = [error.message, error.detail, error.stack, JSON.stringify(error), String(error)].join()
    for (const form of forms) expect(shown).not.toContain(form)
  })
})

describe('the token is sent only to the host of the remote', () => {
  test('a redirect to another host does not get it', async () => {
    server.intercept = (request, response) => Boolean(response.writeHead(302, { location: `${other.url}${request.url}` }).end())
    await expect(git.listRefs(remote())).rejects.toBeInstanceOf(GitAuthFailed)
    expect(other.requests.length).toBeGreaterThan(0)
    expect(other.requests.filter(({ authorization }) => authorization)).toEqual([])
  })

  test('a redirect after the token was sent does not get it', async () => {
    server.intercept = (request, response) =>
      Boolean(request.headers.authorization && response.writeHead(302, { location: `${other.url}${request.url}` }).end())
    await expect(git.listRefs(remote())).rejects.toBeInstanceOf(GitAuthFailed)
    expect(other.requests.length).toBeGreaterThan(0)
    expect(other.requests.filter(({ authorization }) => authorization)).toEqual([])
  })

  test('a redirect within the host is followed', async () => {
    server.intercept = (request, response) =>
      Boolean(request.url?.startsWith('/old') && response.writeHead(301, { location: request.url.replace('/old', '/app') }).end())
    expect(await git.remoteHead({ ...remote(), url: `${server.url}/old.git` }, 'main')).toBe(commits[1])
  })
})

test('git settings of the machine are not used', async () => {
  const home = join(base, 'home')
  await mkdir(home)
  await writeFile(join(home, '.netrc'), `machine 127.0.0.1 login ann password ${token.split(' ')[0]}\n`)
  await writeFile(
    join(home, '.gitconfig'),
    `[url "${other.url}"]\n\tinsteadOf = ${server.url}\n[credential]\n\thelper = "!touch ${home}/asked"\n`,
  )
  const own = createGit({ shell: createRunCommand({ ...process.env, HOME: home }), workFolder: join(base, 'work-home') })
  await expect(own.listRefs({ url: `${server.url}/app.git` })).rejects.toBeInstanceOf(GitAuthFailed)
  expect(server.requests.filter(({ authorization }) => authorization)).toEqual([])
  expect(other.requests).toEqual([])
  expect((await readdir(home)).sort()).toEqual(['.gitconfig', '.netrc'])
})

test('the work folder is closed to other users', async () => {
  await git.listRefs(remote())
  expect((await stat(join(base, 'work'))).mode & 0o077).toBe(0)
})

test('a credential with a line break is refused', async () => {
  for (const bad of ['', 'a\nhost=evil', 'a\0b']) {
    await expect(git.listRefs({ url: `${server.url}/app.git`, credential: { token: new Secret(bad) } })).rejects.toBeInstanceOf(
      RemoteRefused,
    )
  }
})

describe('with a list of permitted addresses', () => {
  const guarded = (addresses: readonly string[]) => {
    const requested: string[] = []
    const permittedAddresses = async (host: string) => {
      requested.push(host)
      return addresses
    }
    const options = { shell: run, workFolder: join(base, 'work-guarded'), allowedHttpHosts: ['git.example'], permittedAddresses }
    return { git: createGit(options), requested }
  }

  test('git connects to the permitted address, regardless of what the name resolves to', async () => {
    const { git: own, requested } = guarded(['127.0.0.1'])
    const url = `${server.url.replace('127.0.0.1', 'git.example')}/app.git`
    expect(await own.remoteHead({ ...remote(), url }, 'main')).toBe(commits[1])
    expect(requested).toEqual(['git.example'])
  })

  test('a host without a permitted address is not contacted', async () => {
    await expect(guarded([]).git.listRefs(remote())).rejects.toBeInstanceOf(RemoteRefused)
    const permittedAddresses = () => Promise.reject(new Error('inside'))
    const own = createGit({ shell: run, workFolder: join(base, 'work-guarded'), permittedAddresses })
    await expect(own.listRefs(remote())).rejects.toThrow('inside')
    expect(server.requests).toEqual([])
  })

  test('a redirect is refused with a message', async () => {
    server.intercept = (request, response) => Boolean(response.writeHead(302, { location: `${other.url}${request.url}` }).end())
    const error = await guarded(['127.0.0.1'])
      .git.listRefs(remote())
      .catch((failure) => failure)
    expect(error).toBeInstanceOf(GitUnreachable)
    expect(error.message).toContain('redirects')
    expect(other.requests).toEqual([])
  })

  test('addresses that a repository names are validated like the address of the repository, and no proxy is used', async () => {
    const repository = await new TestRepository(run, join(base, 'repositories', 'naming.git')).create()
    await repository.commit('main', {
      '.lfsconfig': `[lfs]\n\turl = ${other.url}/lfs\n`,
      '.gitattributes': '*.bin filter=lfs diff=lfs merge=lfs\n',
      'a.bin': `version https://git-lfs.github.com/spec/v1\noid sha256:${'0'.repeat(64)}\nsize 1\n`,
      '.gitconfig': `[url "${other.url}/"]\n\tinsteadOf = http://\n`,
    })
    const proxied = createRunCommand({ ...process.env, http_proxy: other.url, HTTPS_PROXY: other.url, ALL_PROXY: other.url })
    const own = createGit({
      shell: proxied,
      workFolder: join(base, 'work-proxied'),
      allowedHttpHosts: ['git.example'],
      permittedAddresses: async () => ['127.0.0.1'],
    })
    const url = `${server.url.replace('127.0.0.1', 'git.example')}/naming.git`
    await expect(own.checkout({ ...remote(), url }, { branch: 'main' }, join(base, 'naming'))).rejects.toThrow('Git LFS')
    expect(server.requests.at(-1)?.url).toContain('/info/lfs/objects/batch')
    expect(other.requests).toEqual([])
  })
})

async function processTexts(): Promise<[string, string][]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
  const paths = pids.flatMap((pid) => [`/proc/${pid}/cmdline`, `/proc/${pid}/environ`])
  return Promise.all(paths.map(async (path): Promise<[string, string]> => [path, await readFile(path, 'utf8').catch(() => '')]))
}

async function textsBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return Promise.all(
    entries.filter((entry) => entry.isFile()).map((entry) => readFile(join(entry.parentPath, entry.name), 'latin1')),
  )
}
