import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createGitHub } from '../../src/drivers/git-host/github/github.ts'
import type { CloudLinks } from '../../src/modules/git-host/index.ts'
import { Secret } from '../../src/platform/secrets/secret.ts'
import { connectAccount, connectApp, on, type Scene, startScene } from './scene.ts'

let scene: Scene
beforeAll(async () => {
  scene = await startScene(['app', 'oauth'])
  await scene.host.createRepository('acme/shop')
})
afterAll(() => scene?.stop())
afterEach(async () => {
  scene.host.intercept = null
  await scene.request('POST /gitprovider/disconnect')
})

const repos = () => scene.request('GET /gitprovider/repos')
const one = () => scene.request('GET /gitprovider/repos/:owner/:repo', on('acme/shop'))

test('400 without a usable source, on every route that needs one', async () => {
  for (const at of [
    'GET /gitprovider/repos',
    'GET /gitprovider/orgs/:org/repos',
    'GET /gitprovider/repos/:owner/:repo/webhooks',
  ] as const) {
    const { status, body } = await scene.request(at, { params: { owner: 'acme', repo: 'shop', org: 'acme' } })
    expect([status, body.code]).toEqual([400, 'no_source'])
  }
})

test('a used up rate limit: 503 with the time of its end, without waiting for it', async () => {
  await connectAccount(scene)
  const reset = Math.ceil(Date.now() / 1000) + 1800
  scene.host.intercept = () => ({
    status: 403,
    json: { message: 'API rate limit exceeded' },
    headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(reset) },
  })
  const { status, body, headers } = await one()
  expect([status, body.code]).toEqual([503, 'git_host_limited'])
  expect(body.error).toContain(new Date(reset * 1000).toISOString())
  expect(Number(headers['retry-after'])).toBeGreaterThan(1700)
  expect((await scene.request('GET /gitprovider/status')).body.state).toBe('connected')
})

test('a host that is down: 502 with that reason; status and home still answer', async () => {
  await connectAccount(scene)
  scene.host.intercept = (_, response) => {
    response.destroy()
    return 'handled'
  }
  const { status, body } = await one()
  expect([status, body.code]).toEqual([502, 'remote_unreachable'])
  expect(body.error).toContain('cannot be reached')
  expect((await scene.request('GET /gitprovider/status')).status).toBe(200)
  expect((await scene.request('GET /gitprovider/home')).body).toMatchObject({
    state: 'error',
    accounts: [{ login: 'ann' }],
    repos: [],
  })
})

test('a host with an internal error: 502 with its status', async () => {
  await connectAccount(scene)
  scene.host.intercept = () => ({ status: 503, text: 'Unicorn' })
  expect((await one()).body).toMatchObject({ code: 'remote_unreachable', error: expect.stringContaining('503') })
})

test.each([
  ['a page', { text: '<html>Welcome</html>' }],
  ['another shape', { json: { hello: 'world' } }],
  ['nothing', { json: null }],
])('an invalid response (%s): 502, never a partial result', async (_, answer) => {
  await connectAccount(scene)
  scene.host.intercept = () => answer
  for (const request of [repos, one]) expect((await request()).body).toMatchObject({ code: 'remote_unreachable' })
})

test('a slow host: the call ends within its time limit', async () => {
  const host = createGitHub({
    apiUrl: scene.host.url,
    webUrl: scene.host.url,
    appId: null,
    privateKey: null,
    appSlug: null,
    clientId: null,
    clientSecret: null,
  })
  scene.host.intercept = (_, response) => {
    void pause(5_000, undefined, { ref: false }).then(() => response.end())
    return 'handled'
  }
  const access = { kind: 'token', id: 'slow', token: new Secret('gho_x') } as const
  await expect(host.account(access, { timeoutMs: 300 })).rejects.toMatchObject({
    errorKind: 'timed_out',
    message: expect.stringContaining('0.3 seconds'),
  })
  await expect(host.account(access, { abort: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough')
})

test('an endless body is read up to a limit', async () => {
  await connectAccount(scene)
  scene.host.intercept = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const more = () => {
      while (!response.destroyed && response.write(' '.repeat(1_000_000))) {}
    }
    response.on('drain', more)
    more()
    return 'handled'
  }
  expect((await one()).body).toMatchObject({ code: 'remote_unreachable', error: expect.stringContaining('more than') })
})

describe('a token that was revoked at the host', () => {
  test('is not used again: 400, the status shows it, and the organisation is notified once', async () => {
    await connectAccount(scene)
    const { token } = scene.host.calls.findLast(({ what }) => what === 'GET /user')!
    scene.host.revoke(token!)
    const { status, body } = await one()
    expect([status, body.code]).toEqual([400, 'no_source'])
    const before = scene.host.calls.length
    expect((await one()).body.code).toBe('no_source')
    expect((await repos()).body.code).toBe('no_source')
    expect(scene.host.calls.length).toBe(before)
    expect((await scene.request('GET /gitprovider/status')).body).toMatchObject({ state: 'error', sources: { oauth: false } })
    const jobs = await scene.instance.database.db
      .selectFrom('jobs')
      .select('payload')
      .where('kind', '=', 'notifications.announce')
      .execute()
    const reported = jobs
      .map(({ payload }) => JSON.parse(payload))
      .filter(({ category, data }) => category === 'git.disconnected' && data.source === 'oauth')
    expect(reported).toHaveLength(1)
    await connectAccount(scene)
    expect((await one()).status).toBe(200)
  })

  test('is replaced by another source that reaches the repository', async () => {
    await connectAccount(scene)
    const { token } = scene.host.calls.findLast(({ what }) => what === 'GET /user')!
    await connectApp(scene)
    scene.host.revoke(token!)
    expect((await one()).body.data).toMatchObject({ source: 'app' })
    expect((await repos()).body.data).toHaveLength(1)
  })
})

describe('a deleted installation', () => {
  const nothing = { status: 404, json: { message: 'Not Found' } }
  test('is removed, and the response says so', async () => {
    await connectApp(scene)
    scene.host.intercept = ({ path }) => (/^\/(app\/installations|installation)\//.test(path) ? nothing : undefined)
    expect((await repos()).body).toMatchObject({ code: 'no_source', error: expect.stringContaining('uninstalled from acme') })
    expect((await scene.request('GET /gitprovider/status')).body.state).toBe('disconnected')
  })
  test('stays if the host does not know the app either', async () => {
    await connectApp(scene)
    scene.host.intercept = () => nothing
    expect((await repos()).status).toBe(404)
    expect((await scene.request('GET /gitprovider/status')).body.state).toBe('connected')
  })
})

test('a redirect to another host is not followed, and gets no token', async () => {
  await connectAccount(scene)
  let visited = false
  const { serve } = await import('../../../../tests/kit/http-server.ts')
  await using elsewhere = await serve((_, response) => {
    visited = true
    response.end('{}')
  })
  scene.host.intercept = () => ({ status: 302, headers: { location: `${elsewhere.url}/repos/acme/shop` } })
  expect((await one()).body).toMatchObject({ code: 'remote_unreachable', error: expect.stringContaining('another host') })
  expect(visited).toBe(false)
})

test('a list is read once for concurrent callers, and cached for a short time', async () => {
  await connectAccount(scene)
  const before = scene.host.calls.length
  await Promise.all([repos(), repos(), repos()])
  await repos()
  expect(scene.host.calls.slice(before).map(({ what }) => what)).toEqual(['GET /user/repos'])
})

/** A cloud that offers no hand-off: `tests/cloud/git-host-handoff.test.ts` has one that does. */
const cloud = (ways: Pick<CloudLinks, 'connectUrl' | 'installUrl'>): CloudLinks => ({
  isLinked: async () => true,
  linkOf: async () => 'link',
  startHandoff: async () => null,
  collectHandoff: () => Promise.reject(new Error('not here')),
  refreshHandoff: () => Promise.reject(new Error('not here')),
  ...ways,
})

test('linked to an unreachable cloud: connect is 503 cloud_unreachable, and status answers and says so', async () => {
  const away = () => Promise.reject(new Error('away'))
  const linked = await startScene([], {}, { cloudLinks: cloud({ connectUrl: away, installUrl: away }) })
  try {
    const { status, body } = await linked.request('POST /gitprovider/connect')
    expect([status, body.code]).toEqual([503, 'cloud_unreachable'])
    expect((await linked.request('GET /gitprovider/status')).body).toMatchObject({
      state: 'disconnected',
      cloudUnreachable: true,
    })
  } finally {
    await linked.stop()
  }
})

test('linked to a cloud, the links come from the cloud', async () => {
  const cloudLinks = cloud({
    connectUrl: async ({ source }) => `https://cloud.test/${source}`,
    installUrl: async () => 'https://cloud.test/install',
  })
  const linked = await startScene([], {}, { cloudLinks })
  try {
    const { body } = await linked.request('POST /gitprovider/connect')
    expect(body).toMatchObject({
      connected: false,
      flow: 'redirect',
      url: 'https://cloud.test/app',
    })
    expect((await linked.request('GET /gitprovider/status')).body).toMatchObject({
      installUrl: 'https://cloud.test/install',
      cloudUnreachable: false,
    })
  } finally {
    await linked.stop()
  }
})
