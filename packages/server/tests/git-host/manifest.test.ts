// gate: also on PostgreSQL, since two conversions race for one record
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { client } from '../../../../tests/kit/git-hosts/github-host.ts'
import { type Answer, call } from '../kit/call.ts'
import { password } from '../kit/people.ts'
import { back, type Scene, startScene } from './scene.ts'

const start = 'POST /gitprovider/manifest'
const convert = 'POST /gitprovider/manifest/conversion'
const remove = 'DELETE /gitprovider/applications/:provider'
const github = { params: { provider: 'github' } }

let scene: Scene
let owner: Record<string, string>
let now = Date.now()
beforeAll(async () => {
  scene = await startScene([], {}, { clock: { now: () => new Date(now) } })
  owner = await signIn('owner')
})
afterAll(() => scene?.stop())
afterEach(async () => {
  scene.host.intercept = null
  await scene.request(remove, github)
})

async function signIn(who: 'owner' | 'admin' | 'member'): Promise<Record<string, string>> {
  const { email } = scene.people[who]
  const { headers } = await call(scene.instance, null, 'POST /auth/login', { body: { email, password } })
  return { cookie: String(headers['set-cookie']).split(';')[0]!, origin: 'http://berth.localhost', host: 'berth.localhost' }
}

/** The browser up to its return from GitHub: the code and the state in its address. */
async function begin(headers = owner, body: object = {}): Promise<{ code: string; state: string }> {
  const { body: answer } = await call(scene.instance, null, start, { headers, body })
  const state = new URL(answer.data.url).searchParams.get('state')!
  const { searchParams } = scene.host.apps.create(JSON.parse(answer.data.manifest), state)
  return { code: searchParams.get('code')!, state }
}

const finish = (body: object, headers = owner): Promise<Answer> => call(scene.instance, null, convert, { headers, body })
const stored = () => scene.instance.database.db.selectFrom('gitApplications').selectAll().execute()
const shown = async () => (await scene.request('GET /gitprovider/applications')).body.data[0]

describe('a GitHub App by manifest', () => {
  test('the app is stored sealed and used at once: it is installed, and repositories are listed', async () => {
    expect(await shown()).toMatchObject({ provider: 'github', origin: 'none', appId: null, isStored: false })
    const { status, body } = await finish(await begin())
    expect([status, body.data.application]).toMatchObject([
      200,
      { origin: 'stored', kind: 'app', appId: 7700, appSlug: 'berth-test', hasPrivateKey: true, hasWebhookSecret: true },
    ])
    const [row] = await stored()
    const secrets = [client.secret, scene.host.apps.hook!.secret, 'PRIVATE KEY']
    for (const secret of secrets) expect(JSON.stringify([row, body, await shown()])).not.toContain(secret)
    const state = new URL(body.data.installUrl).searchParams.get('state')!
    const returned = await back(scene.instance, await scene.host.apps.install(state), owner)
    expect([returned.status, returned.headers.location]).toEqual([303, '/git?connected=github'])
    await scene.host.createRepository('acme/manifest')
    const { body: repos } = await scene.request('GET /gitprovider/repos')
    expect(repos.data).toMatchObject([{ fullName: 'acme/manifest', source: 'app' }])
    expect(await shown()).toMatchObject({ connectedOrganizations: 1 })
  })

  test('the manifest requests only used permissions, and GitHub redirects to this instance only', async () => {
    const { body } = await call(scene.instance, null, start, { headers: owner, body: { organization: 'acme', public: true } })
    expect(body.data.url).toContain(`${scene.host.url}/organizations/acme/settings/apps/new?state=`)
    expect(JSON.parse(body.data.manifest)).toMatchObject({
      name: expect.stringMatching(/^Berth berth\.localhost [0-9a-f]{4}$/),
      redirect_url: 'http://berth.localhost/git',
      callback_urls: ['http://berth.localhost/api/gitprovider/connect/redirect'],
      hook_attributes: { url: 'http://berth.localhost/api/webhooks/git/github', active: true },
      default_events: ['push', 'pull_request'],
      public: true,
    })
  })

  test.each(['member', 'viewer'] as const)('a %s is not an operator: nothing can be read, started or stored', async (who) => {
    const request = scene.as(who)
    const statuses = [
      await request('GET /gitprovider/applications'),
      await request(start),
      await request(convert, { body: { code: 'x', state: 'x' } }),
      await request('PUT /gitprovider/applications/:provider', { ...github, body: { clientId: 'a', clientSecret: 'b' } }),
      await request(remove, github),
    ].map(({ status }) => status)
    expect(statuses).toEqual([403, 403, 403, 403, 403])
  })

  test('a state is used once, within ten minutes, by the session that started it', async () => {
    const used = await begin()
    expect((await finish(used)).status).toBe(200)
    const again = await begin()
    expect((await finish({ ...again, state: used.state })).body).toMatchObject({ code: 'validation_failed', field: 'state' })
    for (const headers of [await signIn('admin'), await signIn('owner')])
      expect((await finish(again, headers)).body).toMatchObject({ code: 'validation_failed', field: 'state' })
    const [text, signature] = again.state.split('.') as [string, string]
    const forged = Buffer.from(JSON.stringify({ ...JSON.parse(Buffer.from(text, 'base64url').toString()), replaces: null }))
    expect((await finish({ ...again, state: `${forged.toString('base64url')}.${signature}` })).status).toBe(400)
    now += 11 * 60_000
    expect((await finish(again)).body.field).toBe('state')
    now -= 11 * 60_000
    expect((await finish(again)).status).toBe(200)
  })

  test('the state of a connection is invalid for an app', async () => {
    const { code } = await begin()
    await finish(await begin())
    const { body } = await call(scene.instance, null, 'POST /gitprovider/connect', { headers: owner })
    const state = new URL(body.url).searchParams.get('state')!
    expect((await finish({ code, state })).body.field).toBe('state')
  })

  test('one of two apps created at the same time is stored, and the other is named', async () => {
    const [one, other] = [await begin(), await begin()]
    const answers = await Promise.all([finish(one), finish(other)])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
    expect(answers.find(({ status }) => status === 409)!.body.error).toMatch(/The new app berth-test is not used: delete it/)
    expect(await stored()).toHaveLength(1)
  })

  test('a new app replaces the stored one, whose connections end', async () => {
    const first = await finish(await begin())
    const state = new URL(first.body.data.installUrl).searchParams.get('state')!
    await back(scene.instance, await scene.host.apps.install(state), owner)
    expect((await scene.request('GET /gitprovider/status')).body.state).toBe('connected')
    await scene.request('PUT /gitprovider/applications/:provider', {
      ...github,
      body: { clientId: 'new', clientSecret: 'canary' },
    })
    expect((await scene.request('GET /gitprovider/status')).body.state).toBe('disconnected')
    expect(await shown()).toMatchObject({ kind: 'oauth', clientId: 'new', appId: null, hasPrivateKey: false })
  })

  test('removing it takes effect at once', async () => {
    await finish(await begin())
    expect((await scene.request(remove, github)).status).toBe(204)
    expect((await scene.request(remove, github)).status).toBe(404)
    expect(await shown()).toMatchObject({ origin: 'none', isStored: false })
    expect((await scene.request('POST /gitprovider/connect', { body: { source: 'oauth' } })).body.code).toBe('no_source')
  })

  test('a control plane that dies after the exchange stores nothing, and the app can be created again', async () => {
    const { database } = scene.instance
    const exchanged = Promise.withResolvers<void>()
    const isStoring = () => scene.host.calls.some(({ what, status }) => what.startsWith('POST /app-manifests/') && status === 201)
    // After the exchange its transactions never begin, as after kill -9.
    const transaction: typeof database.transaction = (work, options) => {
      if (!isStoring()) return database.transaction(work, options)
      exchanged.resolve()
      return new Promise(() => {})
    }
    const dying = scene.instance.another({ database: { ...database, transaction } })
    scene.host.calls.length = 0
    const begun = await begin()
    void call(dying, null, convert, { headers: owner, body: begun })
    await exchanged.promise
    expect(await stored()).toEqual([])
    expect((await finish(begun)).body).toMatchObject({ code: 'validation_failed', field: 'state' })
    expect((await finish(await begin())).status).toBe(200)
  })

  test('another control plane uses the app without a restart', async () => {
    const other = scene.instance.another()
    await other.app.ready()
    await finish(await begin())
    const { body } = await call(other, scene.people.owner.token, 'GET /gitprovider/status')
    expect(body.installUrl).toContain('/apps/berth-test/installations/new')
    await other.close()
  })
})

describe('a conversion that GitHub answers with', () => {
  const good = { id: 1, slug: 'a', client_id: 'Iv1.a', client_secret: 's', webhook_secret: null, pem: '' }
  test.each([
    ['with a number that is none', { ...good, id: '7' }],
    ['with a slug that leads elsewhere', { ...good, slug: '../../evil' }],
    ['with line breaks', { ...good, client_secret: 'a\nb' }],
    ['with a key that is none', { ...good, pem: '-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----' }],
    ['with 20 MB', { ...good, slug: 'x'.repeat(20 * 1024 * 1024) }],
    ['with nothing', null],
  ])('%s: 502, and nothing is stored', async (_, json) => {
    const begun = await begin()
    scene.host.intercept = ({ path }) => (path.startsWith('/app-manifests/') ? { status: 201, json } : undefined)
    const { status, body } = await finish(begun)
    expect([status, body.code]).toEqual([502, 'remote_unreachable'])
    expect(body.error).toMatch(/delete it there. Then create the app again/)
    expect(body.error.length).toBeLessThan(500)
    expect(await stored()).toEqual([])
  })

  test('a used or expired code is 400, and the message names it', async () => {
    const { state } = await begin()
    expect((await finish({ code: 'unknown', state })).body).toMatchObject({ code: 'validation_failed', field: 'code' })
  })
})

describe('environment variables', () => {
  test('take precedence and are shown as such, and stored settings cannot be changed', async () => {
    const configured = await startScene(['app', 'oauth'])
    try {
      const { body } = await configured.request('GET /gitprovider/applications')
      expect(body.data[0]).toMatchObject({ origin: 'environment', appId: 7700, clientId: client.id, isStored: false })
      expect((await configured.request(start)).body.code).toBe('conflict')
      const change = { ...github, body: { clientId: 'a', clientSecret: 'b' } }
      expect((await configured.request('PUT /gitprovider/applications/:provider', change)).body.code).toBe('conflict')
    } finally {
      await configured.stop()
    }
  })
})
