// gate: also on PostgreSQL, since two requests end one connection
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { app, client, tokens } from '../../../../tests/kit/git-hosts/github-host.ts'
import { call } from '../kit/call.ts'
import { makePeople, password } from '../kit/people.ts'
import { back, connectAccount, connectApp, type Scene, startScene } from './scene.ts'

const redirect = 'GET /gitprovider/connect/redirect'

describe('OAuth account', () => {
  let scene: Scene
  beforeAll(async () => {
    scene = await startScene(['oauth'])
  })
  afterAll(() => scene?.stop())
  afterEach(() => scene.request('POST /gitprovider/disconnect'))

  /** A browser of the dashboard: it signs in, and every call sends its cookie. */
  async function signIn(email: string): Promise<Record<string, string>> {
    const { headers } = await call(scene.instance, null, 'POST /auth/login', {
      body: { email, password },
      headers: { host: 'berth.localhost' },
    })
    const cookies = [headers['set-cookie']].flat().map((text) => String(text).split(';')[0])
    return { cookie: cookies.join('; '), host: 'berth.localhost', origin: 'http://berth.localhost' }
  }

  test('connect returns the URL of the host, and the callback connects the account', async () => {
    const started = await scene.request('POST /gitprovider/connect')
    expect(started.body).toMatchObject({ connected: false, flow: 'redirect' })
    const url = new URL(started.body.url)
    expect(url.origin).toBe(scene.host.url)
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      client_id: client.id,
      redirect_uri: 'http://berth.localhost/api/gitprovider/connect/redirect',
    })
    const returned = await scene.goThrough(started.body.url, 'ann')
    expect([returned.status, returned.headers.location]).toEqual([303, '/git?connected=github'])
    const { body } = await scene.request('GET /gitprovider/status')
    expect(body).toMatchObject({
      state: 'connected',
      sources: { app: false, oauth: true, cli: false },
      accounts: [{ login: 'ann', type: 'user', source: 'oauth' }],
      installUrl: null,
      cloudUnreachable: false,
    })
    expect((await scene.request('POST /gitprovider/connect')).body).toEqual({ connected: true })
  })

  test('the token is stored encrypted and in no response', async () => {
    await connectAccount(scene)
    const { token } = scene.host.calls.findLast(({ what }) => what === 'GET /user')!
    const rows = await scene.instance.database.db.selectFrom('gitConnections').selectAll().execute()
    expect(token).toMatch(/^gho_/)
    expect(JSON.stringify(rows)).not.toContain(token)
    expect(rows[0]!.credential).toMatch(/^v1\./)
    for (const at of ['GET /gitprovider/status', 'GET /gitprovider/home', 'GET /audit-log'] as const)
      expect(JSON.stringify((await scene.request(at)).body)).not.toContain(token)
  })

  test('the state is valid once', async () => {
    const { body } = await scene.request('POST /gitprovider/connect')
    const address = await scene.host.authorize(body.url, 'ann')
    expect((await back(scene.instance, address)).status).toBe(303)
    const again = await back(scene.instance, address)
    expect(again.body).toMatchObject({ code: 'validation_failed', field: 'state' })
  })

  test('one of two concurrent returns with the same state connects', async () => {
    const { body } = await scene.request('POST /gitprovider/connect')
    const address = await scene.host.authorize(body.url, 'ann')
    const answers = await Promise.all([back(scene.instance, address), back(scene.instance, address)])
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 400])
  })

  test('the state is valid for ten minutes', async () => {
    let now = Date.now()
    const late = await startScene(['oauth'], {}, { clock: { now: () => new Date(now) } })
    try {
      const { body } = await late.request('POST /gitprovider/connect')
      const address = await late.host.authorize(body.url, 'ann')
      now += 10 * 60_000
      expect((await back(late.instance, address)).body).toMatchObject({ field: 'state' })
    } finally {
      await late.stop()
    }
  })

  test.each(['', 'x', 'eyJhIjoxfQ.00000000.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'])(
    'an unknown state is 400: %j',
    async (state) => {
      const { status, body } = await call(scene.instance, null, redirect, { query: { code: 'x', ...(state ? { state } : {}) } })
      expect([status, body.code]).toEqual([400, 'validation_failed'])
    },
  )

  test('an altered state is invalid', async () => {
    const { body } = await scene.request('POST /gitprovider/connect')
    const address = await scene.host.authorize(body.url, 'ann')
    const [text, signature] = address.searchParams.get('state')!.split(/\.(.*)/s) as [string, string]
    const facts = JSON.parse(Buffer.from(text, 'base64url').toString())
    facts[0] = 'org_of_somebody_else'
    address.searchParams.set('state', `${Buffer.from(JSON.stringify(facts)).toString('base64url')}.${signature}`)
    expect((await back(scene.instance, address)).status).toBe(400)
  })

  test('a connection started in a browser is completed only with the session of that browser', async () => {
    const browser = await signIn(scene.people.owner.email)
    const other = await signIn(scene.people.admin.email)
    for (const headers of [{}, other]) {
      const { body } = await call(scene.instance, null, 'POST /gitprovider/connect', { headers: browser })
      const { status, body: answer } = await scene.goThrough(body.url, 'ann', headers)
      expect([status, answer.code]).toEqual([400, 'validation_failed'])
    }
    expect((await scene.request('GET /gitprovider/status')).body.state).toBe('disconnected')
    const { body } = await call(scene.instance, null, 'POST /gitprovider/connect', { headers: browser })
    expect((await scene.goThrough(body.url, 'ann', browser)).status).toBe(303)
  })

  test('a link requested with a token does not connect the account of a person who is signed in as another user', async () => {
    const mallory = await makePeople(scene.instance)
    const { body } = await call(scene.instance, mallory.owner.token, 'POST /gitprovider/connect')
    const victim = await signIn(scene.people.owner.email)
    expect((await scene.goThrough(body.url, 'ann', victim)).status).toBe(400)
    expect((await call(scene.instance, mallory.owner.token, 'GET /gitprovider/status')).body.state).toBe('disconnected')
  })

  test('a browser without a session has to confirm, and only that browser can', async () => {
    const { body } = await scene.request('POST /gitprovider/connect')
    const elsewhere = { 'x-forwarded-for': '203.0.113.9', accept: 'text/html' }
    const requested = await scene.goThrough(body.url, 'ann', elsewhere)
    expect([requested.status, requested.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    expect(String(requested.headers['content-security-policy'])).toContain("frame-ancestors 'none'")
    expect((await scene.request('GET /gitprovider/status')).body.state).toBe('disconnected')
    const state = decodeURIComponent(/state=([^"]+)"/.exec(requested.body)![1]!)
    const cookie = String(requested.headers['set-cookie']).split(';')[0]!
    const yes = (headers: Record<string, string>) => call(scene.instance, null, redirect, { query: { state }, headers })
    expect((await yes({ ...elsewhere, cookie })).status).toBe(303)
    expect((await scene.request('GET /gitprovider/status')).body.state).toBe('connected')
  })

  test('with a BERTH_PUBLIC_URL of another machine, each browser without a session has to confirm', async () => {
    const open = await startScene(['oauth'], { BERTH_PUBLIC_URL: 'https://berth.example.test' })
    try {
      const { body } = await open.request('POST /gitprovider/connect')
      expect((await open.goThrough(body.url, 'ann')).status).toBe(200)
      expect((await open.request('GET /gitprovider/status')).body.state).toBe('disconnected')
    } finally {
      await open.stop()
    }
  })

  test('the confirmation page has no effect without its cookie', async () => {
    const { body } = await scene.request('POST /gitprovider/connect')
    const requested = await scene.goThrough(body.url, 'ann', { 'x-forwarded-for': '203.0.113.9' })
    const state = decodeURIComponent(/state=([^"]+)"/.exec(requested.body)![1]!)
    expect((await call(scene.instance, null, redirect, { query: { state } })).status).toBe(400)
    expect((await scene.request('GET /gitprovider/status')).body.state).toBe('disconnected')
  })

  test('the browser is always redirected to a page of the dashboard', async () => {
    const { body } = await scene.request('POST /gitprovider/connect')
    const address = await scene.host.authorize(body.url, 'ann')
    address.searchParams.set('redirect_uri', 'https://evil.test')
    expect((await back(scene.instance, address)).headers.location).toBe('/git?connected=github')
  })

  test('a refusal at the host is reported, to a browser as a page', async () => {
    const { body } = await scene.request('POST /gitprovider/connect')
    const state = new URL(body.url).searchParams.get('state')!
    const query = { state, error: 'access_denied', error_description: '<b>No</b>' }
    const { status, body: page } = await call(scene.instance, null, redirect, { query, headers: { accept: 'text/html' } })
    expect(status).toBe(400)
    expect(page).toContain('&#60;b&#62;No')
  })

  test('a failure is passed to the git page of a signed-in browser as a code only', async () => {
    const browser = { ...(await signIn(scene.people.owner.email)), accept: 'text/html' }
    const failed = async (query: Record<string, string>) => {
      const { status, headers } = await call(scene.instance, null, redirect, { query, headers: browser })
      return [status, headers.location]
    }
    const begin = async () => {
      const { body } = await call(scene.instance, null, 'POST /gitprovider/connect', { headers: browser })
      return new URL(body.url).searchParams.get('state')!
    }
    expect(await failed({ state: 'unknown' })).toEqual([303, '/git?error=expired'])
    expect(await failed({ state: await begin(), error: '<script>' })).toEqual([303, '/git?error=denied'])
    expect(await failed({ state: await begin() })).toEqual([303, '/git?error=incomplete'])
    expect(await failed({ state: await begin(), code: 'wrong' })).toEqual([303, '/git?error=rejected'])
    scene.host.intercept = () => ({ status: 500, json: {} })
    expect(await failed({ state: await begin(), code: 'any' })).toEqual([303, '/git?error=unreachable'])
    scene.host.intercept = null
  })

  test('disconnect deletes the stored credentials of the source, named by query or body', async () => {
    await connectAccount(scene)
    expect((await scene.request('POST /gitprovider/disconnect', { body: { source: 'cli' } })).body.data).toMatchObject({
      source: 'cli',
      state: 'connected',
    })
    const { body } = await scene.request('POST /gitprovider/disconnect', { query: { source: 'oauth' } })
    expect(body.data).toEqual({ source: 'oauth', state: 'disconnected', sources: { app: false, oauth: false, cli: false } })
    expect(await scene.instance.database.db.selectFrom('gitConnections').selectAll().execute()).toEqual([])
    expect((await scene.as('member')('POST /gitprovider/disconnect')).body).toMatchObject({
      code: 'forbidden',
      permission: 'gitprovider:admin',
    })
  })
})

describe('app installation', () => {
  let scene: Scene
  beforeAll(async () => {
    scene = await startScene(['app', 'oauth'])
  })
  afterAll(() => scene?.stop())
  afterEach(() => scene.request('POST /gitprovider/disconnect'))

  test('connect returns the installation page of the app; the callback connects the account of the installation', async () => {
    const { body } = await scene.request('POST /gitprovider/connect')
    expect(body.url).toMatch(`${scene.host.url}/apps/${app.slug}/installations/new?state=`)
    await connectApp(scene)
    const status = (await scene.request('GET /gitprovider/status')).body
    expect(status).toMatchObject({ state: 'connected', accounts: [{ login: 'acme', type: 'organization', source: 'app' }] })
    expect(status.installUrl).toMatch(`${scene.host.url}/apps/${app.slug}/installations/new`)
  })

  const install = async (token: string) => {
    const { body } = await call(scene.instance, token, 'POST /gitprovider/connect')
    const state = new URL(body.url).searchParams.get('state')!
    return call(scene.instance, null, redirect, {
      query: { state, installation_id: String(app.installationId), setup_action: 'install' },
    })
  }

  test('another organisation has to sign in as an owner of the account; members and strangers are refused', async () => {
    const others = await makePeople(scene.instance)
    const expected = { ann: 303, bob: 400, mallory: 400 }
    for (const login of ['bob', 'mallory', 'ann'] as const) {
      const onward = await install(others.owner.token)
      expect(String(onward.headers.location)).toMatch(`${scene.host.url}/login/oauth/authorize`)
      expect([login, (await scene.goThrough(String(onward.headers.location), login)).status]).toEqual([login, expected[login]])
    }
    expect((await call(scene.instance, others.owner.token, 'GET /gitprovider/status')).body.accounts).toMatchObject([
      { login: 'acme' },
    ])
  })

  test('a missing installation, and one that waits for approval, are reported', async () => {
    const { body } = await scene.request('POST /gitprovider/connect')
    const state = new URL(body.url).searchParams.get('state')!
    const gone = await call(scene.instance, null, redirect, { query: { state, installation_id: '999', setup_action: 'install' } })
    expect(gone.status).toBe(404)
    const again = await scene.request('POST /gitprovider/connect')
    const second = new URL(again.body.url).searchParams.get('state')!
    expect(
      (await call(scene.instance, null, redirect, { query: { state: second, setup_action: 'request' } })).body.error,
    ).toMatch('approve')
  })

  test('an uninstallation at the host deletes the stored connection, and the organisation is notified', async () => {
    await connectApp(scene)
    expect(await scene.instance.gitHost.dropInstallation('github', app.installationId)).toContainEqual({
      organizationId: scene.people.organizationId,
      account: 'acme',
    })
    expect((await scene.request('GET /gitprovider/status')).body.state).toBe('disconnected')
    const jobs = await scene.instance.database.db
      .selectFrom('jobs')
      .select('payload')
      .where('kind', '=', 'notifications.announce')
      .execute()
    expect(jobs.map(({ payload }) => JSON.parse(payload).category)).toContain('git.disconnected')
    expect(await scene.instance.gitHost.dropInstallation('github', app.installationId)).toEqual([])
  })
})

describe('device login', () => {
  let scene: Scene
  let now = Date.now()
  beforeAll(async () => {
    scene = await startScene(['device'], {}, { clock: { now: () => new Date(now) } })
  })
  afterAll(() => scene?.stop())
  afterEach(() => scene.request('POST /gitprovider/disconnect'))
  const poll = () => scene.request('GET /gitprovider/connect/poll')

  test('returns a code to enter, and connects the account after it was entered', async () => {
    expect((await poll()).body.data).toMatchObject({ connected: false, status: 'none' })
    const { body } = await scene.request('POST /gitprovider/connect')
    expect(body).toMatchObject({
      connected: false,
      flow: 'device_code',
      verificationUri: `${scene.host.url}/login/device`,
      intervalSeconds: 1,
    })
    expect((await scene.request('POST /gitprovider/connect')).body.userCode).toBe(body.userCode)
    now += 2_000
    expect((await poll()).body.data).toMatchObject({ connected: false, status: 'pending', intervalSeconds: 1 })
    scene.host.devices.approve(body.userCode, tokens.ann)
    now += 2_000
    expect((await poll()).body.data).toMatchObject({ connected: true, status: 'connected' })
    expect((await scene.request('GET /gitprovider/status')).body.accounts).toMatchObject([{ login: 'ann', source: 'oauth' }])
  })

  test('calls the host at the interval that the host sets, however often it is polled', async () => {
    await scene.request('POST /gitprovider/connect')
    now += 2_000
    const before = scene.host.calls.length
    await Promise.all([poll(), poll(), poll(), poll()])
    expect(scene.host.calls.length - before).toBe(1)
    scene.host.devices.slowDown = true
    now += 2_000
    expect((await poll()).body.data).toMatchObject({ status: 'pending', intervalSeconds: 6 })
  })

  test('can be denied, and expires', async () => {
    const { body } = await scene.request('POST /gitprovider/connect')
    scene.host.devices.deny(body.userCode)
    now += 10_000
    expect((await poll()).body.data).toMatchObject({ connected: false, status: 'denied' })
    await scene.request('POST /gitprovider/connect')
    now += 3_600_000
    expect((await poll()).body.data).toMatchObject({ connected: false, status: 'expired' })
  })

  test('can be polled only by the user who started it, and its code is stored encrypted', async () => {
    const { body } = await scene.request('POST /gitprovider/connect')
    scene.host.devices.approve(body.userCode, tokens.ann)
    now += 2_000
    expect((await scene.as('admin')('GET /gitprovider/connect/poll')).body.data).toMatchObject({
      connected: false,
      status: 'none',
    })
    const row = await scene.instance.database.db.selectFrom('gitDeviceLogins').selectAll().executeTakeFirstOrThrow()
    expect(row.deviceCode).toMatch(/^v1\./)
  })
})

test('without a configured client, connecting is 400 in cloud mode', async () => {
  const scene = await startScene([], { BERTH_MODE: 'cloud' })
  try {
    expect((await scene.request('POST /gitprovider/connect')).body).toMatchObject({ code: 'no_source' })
    expect((await scene.request('POST /gitprovider/connect', { body: { source: 'cli' } })).body).toMatchObject({
      code: 'no_source',
    })
    expect((await scene.request('POST /gitprovider/connect', { body: { source: 'app' } })).body).toMatchObject({
      code: 'validation_failed',
      field: 'source',
    })
  } finally {
    await scene.stop()
  }
})
