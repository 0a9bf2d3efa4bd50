import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startGitLabHost } from '../../../../tests/kit/git-hosts/gitlab-host.ts'
import type { PlainHost } from '../../../../tests/kit/git-hosts/plain-host.ts'
import { type CallInput, call } from '../kit/call.ts'
import { makePeople, password } from '../kit/people.ts'
import { startTwoSides, type TwoSides } from '../kit/two-sides.ts'

/** The instance has no OAuth client at the git host, the linked cloud has one. */
let host: PlainHost
let sides: TwoSides
let now = Date.now()
beforeAll(async () => {
  host = await startGitLabHost()
  await host.createRepository('acme/shop', { 'package.json': '{ "name": "shop" }' })
  const client = { BERTH_GITLAB_CLIENT_ID: host.client.id, BERTH_GITLAB_CLIENT_SECRET: host.client.secret }
  const where = { BERTH_GITLAB_URL: host.url }
  sides = await startTwoSides({ clock: { now: () => new Date(now) } }, { ...where, ...client }, where)
  await sides.link()
})
afterAll(async () => {
  await sides?.stop()
  await host?.close()
})
afterEach(async () => {
  await here('POST /gitprovider/disconnect')
})

type At = Parameters<typeof call>[2]
const here = (at: At, input?: CallInput, token = sides.people.owner.token) => call(sides.here, token, at, input)
const query = { provider: 'gitlab' }
const begin = async (token?: string) => {
  const { body } = await here('POST /gitprovider/connect', { query }, token)
  expect(body).toMatchObject({ connected: false, flow: 'redirect', url: expect.stringContaining(host.url) })
  return body.url as string
}

/** A browser that keeps its cookies. */
async function visit(address: string | URL, cookie = '') {
  const response = await fetch(address, { redirect: 'manual', headers: { accept: 'text/html', ...(cookie ? { cookie } : {}) } })
  const text = await response.text()
  const [, next = ''] = /class="go" rel="[^"]*" href="([^"]+)"/.exec(text) ?? []
  return {
    status: response.status,
    text,
    next: next && new URL(next, address).href,
    location: response.headers.get('location') ?? '',
    cookie: response.headers.get('set-cookie')?.split(';')[0] ?? '',
  }
}

/** Visits the git host, returns to the cloud and confirms; returns the URL of the instance that the cloud redirects to. */
async function signIn(url: string): Promise<string> {
  const requested = await visit(host.authorize(url, 'ann'))
  expect([requested.status, requested.text]).toEqual([200, expect.stringContaining(`The Berth at <b>${sides.hereUrl}</b>`)])
  const { status, location } = await visit(requested.next, requested.cookie)
  expect([status, location.startsWith(`${sides.hereUrl}/api/gitprovider/connect/redirect?`)]).toEqual([303, true])
  return location
}
const stateHere = async () => (await here('GET /gitprovider/status')).body.state
const collect = (body: object, token = sides.cloudPeople.owner.token) =>
  call(sides.cloud, token, 'POST /gitprovider/handoffs/collect', { body })

test('a login through the cloud is stored encrypted on the instance, and not in the cloud', async () => {
  const back = await visit(await signIn(await begin()))
  expect([back.status, back.location]).toEqual([303, '/git?connected=gitlab'])
  expect((await here('GET /gitprovider/status')).body).toMatchObject({ state: 'connected', accounts: [{ login: 'ann' }] })
  expect((await here('GET /gitprovider/repos')).body.data).toMatchObject([{ fullName: 'acme/shop', source: 'oauth' }])
  const [row] = await sides.here.database.db.selectFrom('gitConnections').selectAll().execute()
  expect(row?.credential).toMatch(/^v1\./)
  expect(await sides.cloud.database.db.selectFrom('gitConnections').selectAll().execute()).toEqual([])
  const audit = JSON.stringify(await sides.cloud.database.db.selectFrom('auditLog').selectAll().execute())
  for (const token of host.tokens.keys()) expect(audit).not.toContain(token)
})

test('the cloud renews a login once for all users; after unlinking, the account has to be connected again', async () => {
  await visit(await signIn(await begin()))
  const exchanges = () => host.calls.filter(({ what }) => what === 'POST /oauth/token').length
  const before = exchanges()
  now += 3 * 3_600_000
  const at = { params: { owner: 'acme', repo: 'shop' } }
  const answers = await Promise.all([1, 2].map(() => here('GET /gitprovider/repos/:owner/:repo', at)))
  expect([answers.map(({ status }) => status), exchanges() - before]).toEqual([[200, 200], 1])
  now += 3 * 3_600_000
  await here('DELETE /cloud/link')
  expect((await here('GET /gitprovider/repos/:owner/:repo', at)).body.code).toBe('no_source')
  expect(await stateHere()).toBe('error')
  await sides.link()
})

describe('attacks', () => {
  test('the return URL works once, and so does its code', async () => {
    const back = await signIn(await begin())
    const code = new URL(back).searchParams.get('code')!
    expect((await visit(back)).status).toBe(303)
    await here('POST /gitprovider/disconnect')
    expect((await visit(back)).status).toBe(400)
    expect((await collect({ code, verifier: 'v'.repeat(43) })).body.field).toBe('code')
    expect(await stateHere()).toBe('disconnected')
  })

  test('a stolen code returns no login: without the verifier, with another account, or altered', async () => {
    const back = await signIn(await begin())
    const code = new URL(back).searchParams.get('code')!
    const others = await makePeople(sides.cloud)
    const tries = [
      await collect({ code, verifier: 'v'.repeat(43) }),
      await collect({ code, verifier: 'v'.repeat(43) }, sides.cloudPeople.admin.token),
      await collect({ code, verifier: 'v'.repeat(43) }, others.owner.token),
      await collect({ code: `${code.slice(0, -2)}AA`, verifier: 'v'.repeat(43) }),
      await collect({ code: 'v1.nonsense', verifier: 'v'.repeat(43) }),
    ]
    expect(tries.map(({ status, body }) => [status, body.field])).toEqual(tries.map(() => [400, 'code']))
    expect((await collect({ code, verifier: 'v'.repeat(43) }, sides.cloudPeople.viewer.token)).status).toBe(403)
    // None of these attempts has used it up.
    expect((await visit(back)).status).toBe(303)
  })

  test('a link sent to another user connects their account only if they confirm, and only in their own browser', async () => {
    const requested = await visit(host.authorize(await begin(), 'bob'))
    expect(requested.text).toContain('Go on only if you have started this yourself')
    expect((await visit(requested.next)).status).toBe(400)
    expect(await stateHere()).toBe('disconnected')
  })

  test('a login started in a browser can be completed only in that browser', async () => {
    const { email } = sides.people.owner
    const login = await call(sides.here, null, 'POST /auth/login', { body: { email, password } })
    const session = String(login.headers['set-cookie']).split(';')[0]!
    const started = await call(sides.here, null, 'POST /gitprovider/connect', {
      query,
      headers: { cookie: session, origin: sides.hereUrl, host: new URL(sides.hereUrl).host },
    })
    expect(started.status).toBe(200)
    const back = await signIn(started.body.url)
    expect((await visit(back)).status).toBe(400)
    expect(await stateHere()).toBe('disconnected')
  })

  test('after a change of the link the login is not accepted', async () => {
    const back = await signIn(await begin())
    now += 1_000
    await sides.link()
    const { status, text } = await visit(back)
    expect([status, text]).toEqual([400, expect.stringContaining('The cloud link has changed')])
    expect(await stateHere()).toBe('disconnected')
  })

  test('the browser is redirected to an origin only, and only a cloud signs in for other instances', async () => {
    const body = { provider: 'gitlab', state: 'x', challenge: 'c'.repeat(43) }
    const at = (returnTo: string) =>
      call(sides.cloud, sides.cloudPeople.owner.token, 'POST /gitprovider/handoffs', { body: { ...body, returnTo } })
    for (const returnTo of [
      'https://a.test/path',
      'https://u@a.test',
      'javascript:x',
      'https://a.test?x',
      '//a.test',
      'https://',
    ])
      expect([returnTo, (await at(returnTo)).body.field]).toEqual([returnTo, 'returnTo'])
    expect((await at('https://a.test')).status).toBe(200)
    const own = { body: { ...body, returnTo: 'https://a.test' } }
    expect((await here('POST /gitprovider/handoffs', own)).status).toBe(404)
  })

  test('a failure of the cloud during the return is 503, and no account is connected', async () => {
    const back = await signIn(await begin())
    const { intercept } = host
    host.intercept = () => ({ status: 502 })
    expect([(await visit(back)).status, await stateHere()]).toEqual([503, 'disconnected'])
    host.intercept = intercept
  })
})
