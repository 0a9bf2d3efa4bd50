import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { callsOn, makeProject } from '../kit/projects.ts'
import { connectApp, type Scene, startScene } from './scene.ts'

/** A host that accepts every request and answers none. */
let scene: Scene
let project: { id: string }
const requested: { what: string; response: ServerResponse }[] = []
beforeAll(async () => {
  scene = await startScene(['app', 'oauth'])
  await scene.host.createRepository('acme/shop')
  await connectApp(scene)
  const git = { gitProvider: 'github', gitOwner: 'acme', gitRepo: 'shop', gitBranch: 'main' }
  project = await makeProject(scene.instance, scene.people.owner.token, git)
  scene.host.intercept = ({ method, path }, response) => {
    requested.push({ what: `${method} ${path}`, response })
    return 'handled'
  }
})
afterAll(async () => {
  for (const { response } of requested) response.destroy()
  await scene?.stop()
})

test('routes of projects do not wait for the host, except those that read from it', async () => {
  const on = callsOn(scene.instance, scene.people.owner.token)(project)
  const reads = ['', '/info', '/environments', '/env', '/clone-token', '/resources', '/deployments', '/logs', '/pull-requests']
  for (const path of [...reads, '/metrics', '/route-rules', '/deletion-preview'] as `/${string}`[])
    expect([path, (await on('GET', path)).status]).toEqual([path, 200])
  for (const at of ['GET /projects', 'GET /projects/home', 'GET /gitprovider/status'] as const)
    expect([at, (await scene.request(at)).status]).toEqual([at, 200])
  const writes: [method: 'POST' | 'PATCH', path: `/${string}` | '', body: object][] = [
    ['PATCH', '', { name: 'Shop of ours' }],
    ['PATCH', '', { gitRepo: 'shop', gitBranch: 'main' }],
    ['PATCH', '/env', { upserts: [{ key: 'A', value: 'b' }] }],
    ['POST', '/branch', { branch: 'next' }],
    ['POST', '/auto-deploy', { enabled: true }],
    ['POST', '/options', { previews: true }],
    ['POST', '/webhook-domain', { domain: null }],
    ['POST', '/disable', {}],
    ['POST', '/enable', {}],
  ]
  for (const [method, path, body] of writes) expect([path, (await on(method, path, body)).status]).toEqual([path, 200])
  const other = { name: 'Another', gitProvider: 'github', gitOwner: 'acme', gitRepo: 'shop' }
  expect((await scene.request('POST /projects', { body: other })).status).toBe(201)
  expect(requested.map(({ what }) => what)).toEqual([])
})

test('reads from a silent host answer within their time limit, with the known data', async () => {
  const on = callsOn(scene.instance, scene.people.owner.token)(project)
  const link = { owner: 'acme', repo: 'shop', branch: 'main' }
  const [git, commit, branches, linked] = await Promise.all([
    on('GET', '/git'),
    on('GET', '/commit-status'),
    on('GET', '/branches'),
    on('POST', '/git/link', link),
  ])
  expect([git.status, git.body.data]).toMatchObject([200, { repo: 'shop', recentCommits: [] }])
  expect([commit.status, commit.body.data]).toMatchObject([200, { remoteCommit: null, behindBy: null }])
  expect([branches.status, branches.body.code]).toEqual([502, 'remote_unreachable'])
  expect([linked.status, linked.body.code]).toEqual([502, 'remote_unreachable'])
}, 30_000)

test('a request whose client disconnects ends immediately', async () => {
  const at = { provider: 'github', owner: 'acme', repo: 'shop' }
  const giving = new AbortController()
  const credential = scene.instance.gitHost.credentialFor(scene.people.organizationId, at, giving.signal)
  await expect.poll(() => requested.length).toBeGreaterThan(0)
  giving.abort(new Error('enough'))
  await expect(credential).rejects.toThrow('enough')
})
