import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { app, tokens } from '../../../../tests/kit/git-hosts/github-host.ts'
import { readConfig } from '../../src/instance/config/config.ts'
import { createGitHosts } from '../../src/instance/drivers/git-hosts.ts'
import { call } from '../kit/call.ts'
import { makeToken } from '../kit/people.ts'
import { connectAccount, on, type Scene, startScene } from './scene.ts'

/** A token of the owner, whose role has every tag. */
const scoped = (scene: Scene, ...scopes: string[]) => makeToken(scene.instance, scene.people.owner, { scopes })

describe('the install link', () => {
  let scene: Scene
  beforeAll(async () => {
    scene = await startScene(['app', 'oauth'])
  })
  afterAll(() => scene?.stop())
  afterEach(() => scene.request('POST /gitprovider/disconnect'))

  const stateFor = async (token: string) => {
    const { body } = await call(scene.instance, token, 'GET /gitprovider/status')
    return new URL(body.installUrl).searchParams.get('state')
  }
  const finish = (state: string) =>
    call(scene.instance, null, 'GET /gitprovider/connect/redirect', {
      query: { state, installation_id: String(app.installationId), setup_action: 'install' },
    })

  test.each([
    [['gitprovider:read'], false],
    [['gitprovider:read', 'gitprovider:list', 'gitprovider:admin'], false],
    [['gitprovider:read', 'gitprovider:write'], true],
  ])('is signed for a token with %j: %s', async (scopes, isSigned) => {
    expect((await stateFor(await scoped(scene, ...scopes))) !== null).toBe(isSigned)
  })

  test('connects no account once the token that requested it is revoked', async () => {
    const token = await scoped(scene, 'gitprovider:read', 'gitprovider:write')
    const [good, late] = [await stateFor(token), await stateFor(token)]
    expect((await finish(good!)).status).toBe(303)
    await scene.request('POST /gitprovider/disconnect')
    const { body } = await call(scene.instance, token, 'GET /auth/session')
    await call(scene.instance, token, 'DELETE /tokens/:id', { params: { id: body.data.tokenId } })
    expect((await finish(late!)).status).toBe(400)
    expect((await scene.request('GET /gitprovider/status')).body.state).toBe('disconnected')
  })
})

describe('the device login', () => {
  let scene: Scene
  let now = Date.now()
  beforeAll(async () => {
    const clock = { now: () => new Date(now) }
    scene = await startScene(['device'], {}, { clock })
  })
  afterAll(() => scene?.stop())
  afterEach(() => scene.request('POST /gitprovider/disconnect'))

  test('a token with only gitprovider:read sees that it is pending, and cannot complete it', async () => {
    const { body } = await scene.request('POST /gitprovider/connect')
    scene.host.devices.approve(body.userCode, tokens.ann)
    now += 2_000
    const token = await scoped(scene, 'gitprovider:read')
    const { status, body: polled } = await call(scene.instance, token, 'GET /gitprovider/connect/poll')
    expect([status, polled.data.status, polled.data.connected]).toEqual([200, 'pending', false])
    expect(polled.data.message).toContain('gitprovider:write')
    expect((await scene.request('GET /gitprovider/status')).body.state).toBe('disconnected')
    expect((await scene.request('GET /gitprovider/connect/poll')).body.data.connected).toBe(true)
  })

  test('a login whose setting was removed ends with a message that says so', async () => {
    await scene.request('POST /gitprovider/connect')
    now += 2_000
    const home = { HOME: '/nonexistent', BERTH_DATA_DIR: '/nonexistent/data' }
    const gitHosts = createGitHosts(readConfig({ ...home, ...scene.host.settings() }))
    const later = scene.instance.another({ gitHosts })
    const { status, body } = await call(later, scene.people.owner.token, 'GET /gitprovider/connect/poll')
    expect([status, body.data]).toMatchObject([200, { connected: false, status: 'error' }])
    expect(body.data.message).toMatch(/no longer set up.*BERTH_GITHUB_CLIENT_ID/)
    await later.close()
  })
})

describe('webhooks of other services', () => {
  let scene: Scene
  beforeAll(async () => {
    scene = await startScene(['oauth'])
    await connectAccount(scene)
  })
  afterAll(() => scene?.stop())

  test.each([
    [['gitprovider:list'], 'https://ci.example.test/…'],
    [['gitprovider:list', 'gitprovider:write'], 'https://ci.example.test/…'],
    [['gitprovider:list', 'gitprovider:admin'], 'https://ci.example.test/hook?key=canary'],
  ])('an address, which may contain a secret, is shown completely only with gitprovider:admin: %j', async (scopes, url) => {
    const name = `acme/hooks-${scopes.length}-${scopes.at(-1)!.split(':')[1]}`
    await scene.host.createRepository(name)
    await fetch(`${scene.host.url}/repos/${name}/hooks`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tokens.ann}`, 'content-type': 'application/json' },
      body: JSON.stringify({ events: ['push'], config: { url: 'https://ci.example.test/hook?key=canary' } }),
    })
    const token = await scoped(scene, ...scopes)
    const { body } = await call(scene.instance, token, 'GET /gitprovider/repos/:owner/:repo/webhooks', on(name))
    expect(body.data).toMatchObject([{ url, ours: false }])
  })
})
