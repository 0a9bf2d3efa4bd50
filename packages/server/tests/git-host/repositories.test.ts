import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tokens } from '../../../../tests/kit/git-hosts/github-host.ts'
import { call } from '../kit/call.ts'
import { makePeople } from '../kit/people.ts'
import { connectAccount, connectApp, on, type Scene, startScene } from './scene.ts'

const run = promisify(execFile)

/** The routes, once through an account and once through an installed app. */
describe.each(['oauth', 'app'] as const)('with the source %s', (source) => {
  let scene: Scene
  beforeAll(async () => {
    scene = await startScene([source, 'oauth'])
    await scene.host.createRepository('acme/shop', {
      'package.json': '{ "name": "shop", "scripts": { "build": "vite build" } }',
      'broken.json': '{ "name": ',
      'src/index.ts': 'export const shop = 1\n',
      'src/deep/one.txt': 'one',
      'logo.png': '\u0000\u0001',
    })
    await scene.host.git.commit('acme/shop', { 'only-here.txt': 'x' }, { branch: 'feature/x' })
    await scene.host.createRepository('acme/blog', {}, { private: false })
    await (source === 'app' ? connectApp(scene) : connectAccount(scene))
  })
  afterAll(() => scene?.stop())

  test('repos of the connected account; `owner` narrows them', async () => {
    const { status, body } = await scene.request('GET /gitprovider/repos')
    expect([status, body.data.map(({ fullName }: { fullName: string }) => fullName).sort()]).toEqual([
      200,
      ['acme/blog', 'acme/shop'],
    ])
    const shop = body.data.find(({ name }: { name: string }) => name === 'shop')
    expect(shop).toMatchObject({
      owner: 'acme',
      private: true,
      defaultBranch: 'main',
      htmlUrl: `${scene.host.url}/acme/shop`,
      cloneUrl: `${scene.host.url}/acme/shop.git`,
      source,
    })
    expect((await scene.request('GET /gitprovider/repos', { query: { owner: 'ACME' } })).body.data).toHaveLength(2)
    expect((await scene.request('GET /gitprovider/repos', { query: { owner: 'unknown' } })).body.data).toEqual([])
  })

  test('repos of an organisation or account', async () => {
    expect((await scene.request('GET /gitprovider/orgs/:org/repos', { params: { org: 'acme' } })).body.data).toHaveLength(2)
    const { status, body } = await scene.request('GET /gitprovider/orgs/:org/repos', { params: { org: 'no-such-org' } })
    expect([status, body.code]).toEqual([404, 'not_found'])
  })

  test('a repository; `branches=true` inlines its branches', async () => {
    const { body } = await scene.request('GET /gitprovider/repos/:owner/:repo', on('acme/shop'))
    expect(body.data).toMatchObject({ fullName: 'acme/shop' })
    expect(body.data.branches).toBeUndefined()
    const full = await scene.request('GET /gitprovider/repos/:owner/:repo', on('acme/shop', { query: { branches: true } }))
    expect(full.body.data.branches.map(({ name }: { name: string }) => name)).toEqual(['feature/x', 'main'])
  })

  test('branches', async () => {
    const { body } = await scene.request('GET /gitprovider/repos/:owner/:repo/branches', on('acme/shop'))
    expect(body.data).toContainEqual({ name: 'main', commit: expect.stringMatching(/^[0-9a-f]{40}$/), protected: true })
  })

  test('files of a folder; the default is the root', async () => {
    const files = (query = {}) => scene.request('GET /gitprovider/repos/:owner/:repo/files', on('acme/shop', { query }))
    expect((await files()).body.data).toContainEqual({ name: 'src', path: 'src', type: 'dir', sizeBytes: null })
    expect((await files({ path: 'src/' })).body.data).toContainEqual({
      name: 'index.ts',
      path: 'src/index.ts',
      type: 'file',
      sizeBytes: 22,
    })
    expect((await files({ branch: 'feature/x' })).body.data).toContainEqual(expect.objectContaining({ name: 'only-here.txt' }))
    expect((await files({ path: 'nowhere' })).status).toBe(404)
    expect((await files({ branch: 'nowhere' })).status).toBe(404)
  })

  test('a file, package.json by default; .json is parsed', async () => {
    const file = (query = {}) => scene.request('GET /gitprovider/repos/:owner/:repo/file', on('acme/shop', { query }))
    expect((await file()).body.data).toMatchObject({
      path: 'package.json',
      branch: 'main',
      content: { name: 'shop', scripts: { build: 'vite build' } },
    })
    expect((await file({ file: 'src/index.ts', branch: 'main' })).body.data).toMatchObject({
      content: 'export const shop = 1\n',
      sizeBytes: 22,
    })
    expect((await file({ file: 'broken.json' })).body).toMatchObject({ code: 'invalid_json', field: 'file' })
    expect((await file({ file: 'nowhere.txt' })).status).toBe(404)
    expect((await file({ file: 'src' })).status).toBe(404)
    expect((await file({ file: 'logo.png' })).body).toMatchObject({ code: 'validation_failed', field: 'file' })
  })

  test('a repository that the active source cannot see is 404 on every route', async () => {
    const routes = [
      'GET ',
      'DELETE ',
      'GET /branches',
      'GET /files',
      'GET /file',
      'GET /webhooks',
      'POST /webhooks',
      'DELETE /webhooks',
    ] as const
    for (const route of routes) {
      const [method, rest] = route.split(' ') as ['GET', string]
      const body = route === 'DELETE /webhooks' ? { body: { hookId: 1 } } : {}
      const { status } = await scene.request(`${method} /gitprovider/repos/:owner/:repo${rest}`, on('acme/no-such-repo', body))
      expect([route, status]).toEqual([route, 404])
    }
  })

  test('create, then delete', async () => {
    const made = await scene.request('POST /gitprovider/repos', { body: { name: `made-${source}`, owner: 'acme' } })
    expect([made.status, made.body.data]).toMatchObject([201, { fullName: `acme/made-${source}`, private: true }])
    const again = await scene.request('POST /gitprovider/repos', { body: { name: `made-${source}`, owner: 'acme' } })
    expect([again.status, again.body.code]).toEqual([409, 'conflict'])
    expect((await scene.request('GET /gitprovider/repos')).body.data).toContainEqual(
      expect.objectContaining({ name: `made-${source}` }),
    )
    const gone = await scene.request('DELETE /gitprovider/repos/:owner/:repo', on(`acme/made-${source}`))
    expect(gone.status).toBe(204)
    expect((await scene.request('GET /gitprovider/repos/:owner/:repo', on(`acme/made-${source}`))).status).toBe(404)
    expect((await scene.request('GET /gitprovider/repos')).body.data).toHaveLength(2)
    expect((await scene.as('member')('DELETE /gitprovider/repos/:owner/:repo', on('acme/shop'))).status).toBe(403)
  })

  test('home: state, accounts and repos in one call', async () => {
    const { body } = await scene.request('GET /gitprovider/home')
    expect(body).toMatchObject({ state: 'connected', accounts: [{ source }] })
    expect(body.repos).toHaveLength(2)
  })

  test('members see only repositories that members may use', async () => {
    const change = (memberRepositories: string[] | null) =>
      scene.request('PATCH /organizations/:id', { params: { id: scene.people.organizationId }, body: { memberRepositories } })
    await change(['acme/BLOG', 'other/*'])
    const member = scene.as('member')
    for (const who of ['member', 'viewer'] as const) {
      const names = (await scene.as(who)('GET /gitprovider/repos')).body.data.map(
        ({ fullName }: { fullName: string }) => fullName,
      )
      expect([who, names]).toEqual([who, ['acme/blog']])
      expect((await scene.as(who)('GET /gitprovider/home')).body.repos).toHaveLength(1)
    }
    expect((await member('GET /gitprovider/orgs/:org/repos', { params: { org: 'acme' } })).body.data).toHaveLength(1)
    expect((await member('GET /gitprovider/repos/:owner/:repo', on('acme/shop'))).status).toBe(404)
    expect((await member('GET /gitprovider/repos/:owner/:repo/clone-token', on('acme/shop'))).status).toBe(404)
    expect((await member('POST /gitprovider/repos', { body: { name: 'shop-two', owner: 'acme' } })).status).toBe(403)
    expect((await member('GET /gitprovider/repos/:owner/:repo', on('acme/blog'))).status).toBe(200)
    expect((await scene.as('admin')('GET /gitprovider/repos')).body.data).toHaveLength(2)
    await change(['acme/*'])
    expect((await member('GET /gitprovider/repos')).body.data).toHaveLength(2)
    await change(null)
  })

  test('another organisation cannot use the connection: 400 no_source', async () => {
    const { owner } = await makePeople(scene.instance)
    for (const at of [
      'GET /gitprovider/repos',
      'GET /gitprovider/repos/:owner/:repo',
      'GET /gitprovider/repos/:owner/:repo/files',
    ] as const)
      expect((await call(scene.instance, owner.token, at, on('acme/shop'))).body).toMatchObject({ code: 'no_source' })
    expect((await call(scene.instance, owner.token, 'GET /gitprovider/home')).body).toEqual({
      state: 'disconnected',
      accounts: [],
      repos: [],
    })
  })

  test.each(['-rf', 'a\nb', 'shop\u202Egnp', 'a b', '%2e%2e', 'x'.repeat(101)])(
    'a repository with the name %j is 400',
    async (repo) => {
      const { status, body } = await scene.request('GET /gitprovider/repos/:owner/:repo', { params: { owner: 'acme', repo } })
      expect([status, body.field]).toEqual([400, 'repo'])
      expect(
        (await scene.request('GET /gitprovider/repos/:owner/:repo/branches', { params: { owner: repo, repo: 'shop' } })).body
          .field,
      ).toBe('owner')
    },
  )

  test.each(['../x', 'a/../../b', '..', 'a\\..\\b', '-x', 'a\u202Eb', 'a\nb'])(
    'the path %j is 400, and the host is not called',
    async (path) => {
      const before = scene.host.calls.length
      expect(
        (await scene.request('GET /gitprovider/repos/:owner/:repo/files', on('acme/shop', { query: { path } }))).body.field,
      ).toBe('path')
      expect(
        (await scene.request('GET /gitprovider/repos/:owner/:repo/file', on('acme/shop', { query: { file: path } }))).body.field,
      ).toBe('file')
      expect(scene.host.calls.length).toBe(before)
    },
  )
  test.each(['-x', 'a..b', 'a\u202Eb', 'a b', '.', '@', '@{-1}', 'a.lock', '/a', 'a//b', 'a/', 'a/.b'])(
    'the branch %j is 400',
    async (branch) => {
      expect(
        (await scene.request('GET /gitprovider/repos/:owner/:repo/files', on('acme/shop', { query: { branch } }))).body.field,
      ).toBe('branch')
    },
  )
})

describe('clone-token', () => {
  test('of an installation: for one repository, for less than an hour, and its command clones', async () => {
    const scene = await startScene(['app'])
    const folder = mkdtempSync(join(tmpdir(), 'berth-clone-'))
    try {
      await scene.host.createRepository('acme/shop', { 'a.txt': 'hello' })
      await connectApp(scene)
      const { status, body } = await scene.request('GET /gitprovider/repos/:owner/:repo/clone-token', on('acme/shop'))
      expect([status, Object.keys(body).sort()]).toEqual([200, ['cloneUrl', 'command', 'token']])
      expect(body.cloneUrl).toBe(`${scene.host.url}/acme/shop.git`)
      await run('sh', ['-c', body.command], {
        cwd: folder,
        env: { PATH: process.env.PATH, HOME: folder, GIT_TERMINAL_PROMPT: '0' },
      })
      expect(readFileSync(join(folder, 'shop', 'a.txt'), 'utf8')).toBe('hello')
      expect(readFileSync(join(folder, 'shop', '.git', 'config'), 'utf8')).not.toContain(body.token)
      expect((await scene.request('GET /gitprovider/repos/:owner/:repo/clone-token', on('acme/other'))).status).toBe(404)
      const elsewhere = await scene.request('GET /gitprovider/repos/:owner/:repo/clone-token', on('ann/blog'))
      expect([elsewhere.status, elsewhere.body.code]).toEqual([409, 'no_app_installation'])
    } finally {
      rmSync(folder, { recursive: true, force: true })
      await scene.stop()
    }
  })

  test('409 without an app installation: with a connected account, or without a connection', async () => {
    const scene = await startScene(['oauth'])
    try {
      await scene.host.createRepository('acme/shop')
      const request = () => scene.request('GET /gitprovider/repos/:owner/:repo/clone-token', on('acme/shop'))
      expect([(await request()).status, (await request()).body.code]).toEqual([409, 'no_app_installation'])
      await connectAccount(scene)
      expect([(await request()).status, (await request()).body.code]).toEqual([409, 'no_app_installation'])
    } finally {
      await scene.stop()
    }
  })
})

describe('the credential of a project', () => {
  let scene: Scene
  beforeAll(async () => {
    scene = await startScene(['app', 'oauth'])
    await scene.host.createRepository('acme/shop')
    await scene.host.createRepository('ann/blog')
    await connectAccount(scene)
    await connectApp(scene)
  })
  afterAll(() => scene?.stop())
  const at = (name: string, url?: string) => {
    const [owner, repo] = name.split('/') as [string, string]
    return { provider: 'github', owner, repo, ...(url ? { url } : {}) }
  }
  const credentialFor = (name: string, url?: string) =>
    scene.instance.gitHost.credentialFor(scene.people.organizationId, at(name, url))

  test('is a narrowed token of the app if that is installed, else the account', async () => {
    const ofApp = await credentialFor('acme/shop', `${scene.host.url}/acme/shop.git`)
    expect(ofApp?.token.reveal()).toMatch(/^ghs_/)
    expect(ofApp!.expiresAt!.getTime() - Date.now()).toBeLessThanOrEqual(3_600_000)
    expect((await credentialFor('Acme/Shop'))?.token.reveal()).toBe(ofApp?.token.reveal())
    expect((await credentialFor('ann/blog'))?.token.reveal()).toMatch(/^gho_/)
  })

  test('is never sent to another host, with another scheme, or for another organisation', async () => {
    const elsewhere = [
      'https://evil.test/acme/shop.git',
      'http://127.0.0.1:1/acme/shop.git',
      'git@127.0.0.1:acme/shop.git',
      `${scene.host.url}.evil.test/acme/shop.git`,
      'nonsense',
    ]
    for (const url of elsewhere) expect([url, await credentialFor('acme/shop', url)]).toEqual([url, undefined])
    const others = await makePeople(scene.instance)
    expect(await scene.instance.gitHost.credentialFor(others.organizationId, at('acme/shop'))).toBeUndefined()
    expect(
      await scene.instance.gitHost.credentialFor(scene.people.organizationId, { ...at('acme/shop'), provider: 'git' }),
    ).toBeUndefined()
  })

  test('statuses and comments reach the host; a comment with the same marker is replaced', async () => {
    const { gitHost } = scene.instance
    const organization = scene.people.organizationId
    const sha = 'b'.repeat(40)
    await gitHost.setCommitStatus(organization, at('acme/shop'), sha, {
      state: 'success',
      description: 'x'.repeat(200),
      context: 'berth/shop',
      targetUrl: 'http://shop.localhost',
    })
    expect(scene.host.statuses.at(-1)).toMatchObject({
      repository: 'acme/shop',
      sha,
      state: 'success',
      context: 'berth/shop',
      targetUrl: 'http://shop.localhost',
    })
    expect(scene.host.statuses.at(-1)!.description).toHaveLength(140)
    const issue = await fetch(`${scene.host.url}/repos/ann/blog/issues`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tokens.ann}`, 'content-type': 'application/json' },
      body: JSON.stringify({ title: 'x' }),
    })
    const { number } = (await issue.json()) as { number: number }
    for (const text of ['first', 'second'])
      await gitHost.comment(organization, at('ann/blog'), number, { marker: 'berth prj_1', text })
    const comments = await fetch(`${scene.host.url}/repos/ann/blog/issues/${number}/comments`, {
      headers: { authorization: `Bearer ${tokens.ann}` },
    })
    expect(((await comments.json()) as { body: string }[]).map(({ body }) => body)).toEqual(['<!-- berth prj_1 -->\nsecond'])
    expect([...(await gitHost.protectedBranches(organization, at('acme/shop')))]).toEqual(['main'])
  })
})
