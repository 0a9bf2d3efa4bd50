import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type GitServer, startGitServer } from '../../src/drivers/git/test-git-server.ts'
import { TestRepository } from '../../src/drivers/git/test-repository.ts'
import { createRunCommand } from '../../src/drivers/shell/run-command.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People } from '../kit/people.ts'
import { deploymentFacts, MemoryDeployments } from '../kit/project-ports.ts'
import { callsOn, makeProject } from '../kit/projects.ts'

const password = 'clone-token-of-the-test'
const run = createRunCommand(process.env)
const deployments = new MemoryDeployments()
let base: string
let server: GitServer
let instance: TestInstance
let people: People
let commits: string[]
let project: { id: string }
let on: ReturnType<ReturnType<typeof callsOn>>

beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), 'berth-git-api-'))
  const repository = (name: string) => new TestRepository(run, join(base, 'repositories', name)).create()
  const shop = await repository('acme/shop.git')
  commits = []
  for (const message of ['first', 'second', 'third'])
    commits.push(await shop.commit('main', { 'index.js': message }, { message }))
  await shop.commit('feature/x', { 'index.js': 'x' }, { parents: [commits[0]!] })
  const other = await repository('acme/other.git')
  await other.commit('trunk', { a: '1' })
  await other.git('symbolic-ref', 'HEAD', 'refs/heads/trunk')
  server = await startGitServer(run, join(base, 'repositories'))
  instance = await startInstance({ BERTH_DATA_DIR: join(base, 'data') }, { projectPorts: { deployments } })
  people = await makePeople(instance)
})
beforeEach(async () => {
  Object.assign(server, { password, intercept: null, requests: [] })
  project = await makeProject(instance, people.member.token, { gitUrl: `${server.url}/acme/shop.git`, gitBranch: 'main' })
  on = callsOn(instance, people.admin.token)(project)
  await on('PATCH', '/clone-token', { token: password })
})
afterAll(async () => {
  await instance.stop()
  await server.close()
  rmSync(base, { recursive: true, force: true })
})

const away = () => {
  server.intercept = (_, response) => {
    response.writeHead(503).end('away')
    return true
  }
}
const unlinked = async () => callsOn(instance, people.member.token)(await makeProject(instance, people.member.token))
const deploy = (commit: string) => {
  const live = deploymentFacts({ commit })
  deployments.known.set(project.id, { newest: live, live })
}
const git = async () => (await on('GET', '/git')).body.data
const status = async () => (await on('GET', '/commit-status')).body.data

describe('a project on a git address without a branch', () => {
  const unnamed = async () => {
    const made = await makeProject(instance, people.member.token, { gitUrl: `${server.url}/acme/other.git` })
    const call = callsOn(instance, people.admin.token)(made)
    await call('PATCH', '/clone-token', { token: password })
    return async (path: `/${string}`) => (await call('GET', path)).body.data
  }

  test('shows the default branch of the remote, and its newest commit', async () => {
    const read = await unnamed()
    expect(await read('/git')).toMatchObject({ branch: 'trunk' })
    const { branch, remoteCommit } = await read('/commit-status')
    expect([branch, remoteCommit]).toEqual(['trunk', expect.stringMatching(/^[0-9a-f]{40}$/)])
  })

  test('shows no branch or commit while the remote does not answer', async () => {
    const read = await unnamed()
    away()
    expect(await read('/git')).toMatchObject({ branch: null })
    expect(await read('/commit-status')).toMatchObject({ branch: null, upToDate: null, reason: expect.any(String) })
  })
})

describe('GET /projects/:id/git', () => {
  test('returns the linked repository with its newest commits, read with the clone token', async () => {
    const { status, body } = await on('GET', '/git')
    expect(status).toBe(200)
    expect(body.data).toMatchObject({
      provider: 'git',
      owner: 'acme',
      repo: 'shop',
      branch: 'main',
      url: `${server.url}/acme/shop.git`,
      autoDeploy: true,
      webhook: { active: false, url: null, lastDeliveryAt: null },
    })
    expect(body.data.recentCommits.map(({ sha }: { sha: string }) => sha)).toEqual([...commits].reverse())
    expect(body.data.recentCommits[0]).toEqual({
      sha: commits[2],
      message: 'third',
      author: 'Ann',
      committedAt: expect.any(String),
    })
    expect(JSON.stringify(body)).not.toContain(password)
  })

  test('404 without a linked repository', async () => {
    expect((await (await unlinked())('GET', '/git')).status).toBe(404)
  })

  test('returns the linked repository even if the remote is unreachable', async () => {
    away()
    expect(await git()).toMatchObject({ owner: 'acme', repo: 'shop', recentCommits: [] })
  })
})

describe('GET /projects/:id/branches', () => {
  test('returns branches with their commits, and the default one', async () => {
    const { status, body } = await on('GET', '/branches')
    expect(status).toBe(200)
    const named = Object.fromEntries(body.data.map((branch: { name: string }) => [branch.name, branch]))
    expect(Object.keys(named).sort()).toEqual(['feature/x', 'main'])
    expect(named.main).toEqual({ name: 'main', commit: commits[2], protected: false, default: true })
    expect(named['feature/x'].default).toBe(false)
  })

  test('404 without a linked repository', async () => {
    expect((await (await unlinked())('GET', '/branches')).status).toBe(404)
  })

  test('502 remote_unreachable with the reason: unreachable, a refused password, a missing repository', async () => {
    const refusal = async () => {
      const { status, body } = await on('GET', '/branches')
      expect([status, body.code]).toEqual([502, 'remote_unreachable'])
      expect(JSON.stringify(body)).not.toContain(password)
      return body.error
    }
    server.password = 'changed meanwhile'
    expect(await refusal()).toMatch(/127\.0\.0\.1/)
    away()
    expect(await refusal()).toMatch(/503/)
    server.intercept = null
    server.password = password
    await on('PATCH', '', { gitUrl: `${server.url}/acme/none.git` })
    expect(await refusal()).toMatch(/Repository .* does not exist/)
  })
})

describe('GET /projects/:id/commit-status', () => {
  test('the number of commits that the deployed one is behind, and 0 for a short id of the newest one', async () => {
    deploy(commits[0]!)
    expect(await status()).toEqual({
      deployedCommit: commits[0],
      remoteCommit: commits[2],
      branch: 'main',
      upToDate: false,
      behindBy: 2,
    })
    deploy(commits[2]!.slice(0, 8))
    expect(await status()).toMatchObject({ upToDate: true, behindBy: 0 })
  })

  test('a failed lookup never claims "behind"', async () => {
    deploy(commits[0]!)
    away()
    expect(await status()).toEqual({
      deployedCommit: commits[0],
      remoteCommit: null,
      branch: 'main',
      upToDate: null,
      behindBy: null,
      reason: expect.stringContaining('503'),
    })
  })

  test('null for unknown values: not deployed, branch deleted, not linked', async () => {
    expect(await status()).toMatchObject({ deployedCommit: null, remoteCommit: commits[2], upToDate: false, behindBy: null })
    await on('POST', '/branch', { branch: 'gone' })
    expect(await status()).toMatchObject({ remoteCommit: null, branch: 'gone', upToDate: null, behindBy: null })
    expect((await status()).reason).toBe('The remote has no branch gone')
  })

  test('404 without a linked repository, as for `git`; the deploy branch cannot be set then either', async () => {
    const calls = await unlinked()
    expect((await calls('GET', '/commit-status')).body).toEqual((await calls('GET', '/git')).body)
    expect((await calls('GET', '/commit-status')).status).toBe(404)
    expect((await calls('POST', '/branch', { branch: 'main' })).status).toBe(404)
  })

  test('null for a deployed commit that the remote does not have', async () => {
    deploy('f'.repeat(40))
    expect(await status()).toMatchObject({ remoteCommit: commits[2], upToDate: false, behindBy: null })
  })
})

describe('POST /projects/:id/git/link', () => {
  const link = (body: object) => on('POST', '/git/link', body)

  test('links another repository of the same host; the default is its default branch', async () => {
    const { status, body } = await link({ owner: 'acme', repo: 'other' })
    expect(status).toBe(200)
    expect(body.data).toMatchObject({ owner: 'acme', repo: 'other', branch: 'trunk', url: `${server.url}/acme/other.git` })
    expect(body.data.recentCommits).toHaveLength(1)
    expect(await git()).toEqual(body.data)
  })

  test('a given branch that exists is accepted', async () => {
    const { status, body } = await link({ owner: 'acme', repo: 'shop', branch: 'feature/x' })
    expect([status, body.data.branch, body.data.repo]).toEqual([200, 'feature/x', 'shop'])
  })

  test.each([
    ['repo', { owner: 'acme', repo: 'missing' }],
    ['repo', { owner: 'acme', repo: 'missing', branch: 'main' }],
    ['repo', { owner: 'unknown', repo: 'shop' }],
    ['branch', { owner: 'acme', repo: 'shop', branch: 'gone' }],
    ['branch', { owner: 'acme', repo: 'other', branch: 'main' }],
  ])('400 names %s if it does not exist at the host, and nothing changes: %j', async (field, body) => {
    const before = await git()
    const answer = await link(body)
    expect([answer.status, answer.body.code, answer.body.field]).toEqual([400, 'validation_failed', field])
    expect(await git()).toEqual(before)
  })

  test('400 names `repo` if the credential cannot read it', async () => {
    server.password = 'changed meanwhile'
    expect((await link({ owner: 'acme', repo: 'other' })).body).toMatchObject({ code: 'validation_failed', field: 'repo' })
  })

  test('502 and nothing changes while the host is unreachable, with and without a branch', async () => {
    for (const branch of [undefined, 'trunk']) {
      away()
      const { status, body } = await link({ owner: 'acme', repo: 'other', branch })
      expect([status, body.code]).toEqual([502, 'remote_unreachable'])
      server.intercept = null
      expect(await git()).toMatchObject({ repo: 'shop', branch: 'main' })
    }
  })

  test('owner and repo are compared without case: the stored spelling stays', async () => {
    const { body } = await link({ owner: 'Acme', repo: 'SHOP', branch: 'feature/x' })
    expect(body.data).toMatchObject({ owner: 'acme', repo: 'shop', branch: 'feature/x', url: `${server.url}/acme/shop.git` })
  })

  test('a project without a repository is linked to one at GitHub', async () => {
    server.password = null
    const withHost = await startInstance({ BERTH_GITHUB_WEB_URL: server.url })
    const { owner } = await makePeople(withHost)
    const calls = callsOn(withHost, owner.token)(await makeProject(withHost, owner.token))
    const { body } = await calls('POST', '/git/link', { owner: 'acme', repo: 'shop' })
    expect(body.data).toMatchObject({ provider: 'github', owner: 'acme', repo: 'shop', branch: 'main' })
    expect(body.data.url).toBe(`${server.url}/acme/shop.git`)
    await withHost.stop()
  })

  test.each([
    [{ owner: '-x', repo: 'shop' }, 'owner'],
    [{ owner: 'acme', repo: '..' }, 'repo'],
    [{ owner: 'acme', repo: 'shop', branch: '--upload-pack=id' }, 'branch'],
    [{ repo: 'shop' }, 'owner'],
  ])('400 names the field: %j', async (body, field) => {
    const answer = await link(body)
    expect([answer.status, answer.body.field]).toEqual([400, field])
  })

  test('403 for a viewer', async () => {
    const viewer = callsOn(instance, people.viewer.token)(project)
    expect((await viewer('POST', '/git/link', { owner: 'acme', repo: 'other' })).status).toBe(403)
  })
})

describe('the clone token', () => {
  const token = async () => (await on('GET', '/clone-token')).body.data.hasToken
  test('stays for another repository of its host, and is removed if the URL has another host', async () => {
    await on('PATCH', '', { gitUrl: `${server.url}/acme/other.git` })
    expect(await token()).toBe(true)
    const outsider = await startGitServer(run, join(base, 'repositories'))
    outsider.password = 'whatever'
    await on('PATCH', '', { gitUrl: `${outsider.url}/acme/shop.git` })
    expect(await token()).toBe(false)
    await on('GET', '/branches')
    expect(outsider.requests.length).toBeGreaterThan(0)
    expect(outsider.requests.filter(({ authorization }) => authorization)).toEqual([])
    await outsider.close()
  })
})
