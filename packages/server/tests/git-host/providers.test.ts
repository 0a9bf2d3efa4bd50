// gate: also on PostgreSQL, since it runs SQL that no other file of the gate runs
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startGiteaHost } from '../../../../tests/kit/git-hosts/gitea-host.ts'
import { startGitLabHost } from '../../../../tests/kit/git-hosts/gitlab-host.ts'
import type { PlainHost } from '../../../../tests/kit/git-hosts/plain-host.ts'
import { call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People } from '../kit/people.ts'
import { back, on } from './scene.ts'

let [gitlab, gitea] = [] as unknown as [PlainHost, PlainHost]
let instance: TestInstance
let people: People
let now = Date.now()
beforeAll(async () => {
  ;[gitlab, gitea] = await Promise.all([startGitLabHost(), startGiteaHost()])
  const settings = (name: string, { url, client }: PlainHost) => ({
    [`BERTH_${name}_URL`]: url,
    [`BERTH_${name}_CLIENT_ID`]: client.id,
    [`BERTH_${name}_CLIENT_SECRET`]: client.secret,
  })
  const env = { ...settings('GITLAB', gitlab), ...settings('GITEA', gitea), BERTH_PUBLIC_URL: 'http://berth.localhost' }
  instance = await startInstance(env, { clock: { now: () => new Date(now) } })
  people = await makePeople(instance)
  await gitlab.createRepository('acme/web/shop', { 'package.json': '{ "name": "shop" }' })
  await gitea.createRepository('acme/blog', { 'package.json': '{ "name": "blog" }' })
})
afterAll(async () => {
  await instance?.stop()
  await Promise.all([gitlab?.close(), gitea?.close()])
})
const request = (at: Parameters<typeof call>[2], input = {}) => call(instance, people.owner.token, at, input)
const connect = async (provider: 'gitlab' | 'gitea', host: PlainHost) => {
  const { body } = await request('POST /gitprovider/connect', { query: { provider } })
  expect(body).toMatchObject({ connected: false, flow: 'redirect', url: expect.stringContaining(host.url) })
  expect((await back(instance, host.authorize(body.url, 'ann'))).status).toBe(303)
}

describe.each(['gitlab', 'gitea'] as const)('%s through the routes', (provider) => {
  const host = () => (provider === 'gitlab' ? gitlab : gitea)
  const name = provider === 'gitlab' ? 'acme/web/shop' : 'acme/blog'
  const cut = name.lastIndexOf('/')
  const params = { owner: name.slice(0, cut), repo: name.slice(cut + 1) }
  const query = { provider }
  beforeAll(() => connect(provider, host()))

  test('lists repositories, branches and files, and reads a file', async () => {
    expect((await request('GET /gitprovider/repos', { query })).body.data).toMatchObject([{ fullName: name, source: 'oauth' }])
    expect(
      (await request('GET /gitprovider/repos/:owner/:repo', { params, query: { ...query, branches: true } })).body.data,
    ).toMatchObject({
      cloneUrl: `${host().url}/${name}.git`,
      branches: [{ name: 'main' }],
    })
    expect((await request('GET /gitprovider/repos/:owner/:repo/files', { params, query })).body.data).toMatchObject([
      { name: 'package.json' },
    ])
    expect((await request('GET /gitprovider/repos/:owner/:repo/file', { params, query })).body.data).toMatchObject({
      content: { name: params.repo },
    })
    expect((await request('GET /gitprovider/repos/:owner/:repo/clone-token', { params, query })).body.code).toBe(
      'no_app_installation',
    )
  })

  test('registers the push webhook, whose deliveries are identified by its secret', async () => {
    const made = await request('POST /gitprovider/repos/:owner/:repo/webhooks', { params, query })
    expect([made.status, made.body.data.ours]).toEqual([201, true])
    expect((await request('POST /gitprovider/repos/:owner/:repo/webhooks', { params, query })).status).toBe(200)
    const { secret, url } = host().hooks.at(-1)!
    const rawBody = Buffer.from(
      JSON.stringify({
        object_kind: 'push',
        ref: 'refs/heads/main',
        after: 'd'.repeat(40),
        project: { path_with_namespace: name },
        repository: { full_name: name },
      }),
    )
    const { createHmac } = await import('node:crypto')
    const signature = createHmac('sha256', secret).update(rawBody).digest('hex')
    const headers =
      provider === 'gitlab'
        ? { 'x-gitlab-event': 'Push Hook', 'x-gitlab-token': secret, 'x-gitlab-event-uuid': 'u-1' }
        : { 'x-gitea-event': 'push', 'x-gitea-signature': signature, 'x-gitea-delivery': 'u-1' }
    const hook = new URL(url).searchParams.get('hook')
    const verified = await instance.gitHost.verifyDelivery({ provider, headers, rawBody, hook })
    expect(verified).toMatchObject({
      organizationIds: [people.organizationId],
      delivery: { kind: 'push', id: 'u-1', branch: 'main', repository: params },
    })
    const forged = { ...headers, 'x-gitlab-token': 'x', 'x-gitea-signature': 'a'.repeat(64) }
    expect(await instance.gitHost.verifyDelivery({ provider, headers: forged, rawBody, hook })).toBeNull()
  })

  test.each<[string, object]>([
    ['inactive', { active: false }],
    ['elsewhere', { url: 'https://elsewhere.example.test' }],
    ['without push', { events: [] }],
  ])('a hook that is %s is repaired', async (_, broken) => {
    const hook = host().hooks.at(-1)!
    const { url } = hook
    Object.assign(hook, broken)
    const { status, body } = await request('POST /gitprovider/repos/:owner/:repo/webhooks', { params, query })
    expect([status, body.data]).toMatchObject([200, { id: hook.id, active: true, url }])
    expect(body.data.events).toContain('push')
  })

  test('an expired token is renewed once for concurrent calls', async () => {
    const codes = host().codes.size
    now += 3 * 3_600_000
    const before = host().calls.filter(({ what }) => /oauth\/(token|access_token)$/.test(what)).length
    const answers = await Promise.all([1, 2, 3].map(() => request('GET /gitprovider/repos/:owner/:repo', { params, query })))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(host().calls.filter(({ what }) => /oauth\/(token|access_token)$/.test(what)).length - before).toBe(1)
    expect(host().codes.size).toBe(codes)
  })

  test('a login renewed while a user reconnects or disconnects is not stored', async () => {
    await request('POST /gitprovider/disconnect', { query })
    const urls = [await request('POST /gitprovider/connect', { query }), await request('POST /gitprovider/connect', { query })]
    const [ann, bob] = urls.map(({ body }) => body.url as string) as [string, string]
    await back(instance, host().authorize(ann, 'ann'))
    const meanwhile = async (act: () => Promise<unknown>) => {
      const { db } = instance.database
      const due = { credentialExpiresAt: now }
      await db.updateTable('gitConnections').set(due).where('provider', '=', provider).where('source', '=', 'oauth').execute()
      const renewed = { access_token: 'ann-token', refresh_token: 'another', expires_in: 7200, token_type: 'bearer' }
      host().intercept = (_, response) => {
        host().intercept = null
        void act().then(() => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(renewed)))
        return 'handled'
      }
      return request('GET /gitprovider/repos', { query })
    }
    expect((await meanwhile(() => back(instance, host().authorize(bob, 'bob')))).body.data).toEqual([])
    expect((await request('GET /gitprovider/status', { query })).body.accounts).toMatchObject([{ login: 'bob' }])
    expect((await request('GET /gitprovider/repos', { query })).body.data).toEqual([])
    const gone = await meanwhile(() => request('POST /gitprovider/disconnect', { query }))
    expect([gone.body.code, (await request('GET /gitprovider/status', { query })).body.state]).toEqual([
      'no_source',
      'disconnected',
    ])
    await connect(provider, host())
  })

  test('a refused renewal ends the connection, and the response says so', async () => {
    host().codes.clear()
    now += 3 * 3_600_000
    expect((await request('GET /gitprovider/repos/:owner/:repo', { params, query })).body.code).toBe('no_source')
    expect((await request('GET /gitprovider/status', { query })).body.state).toBe('error')
    await request('POST /gitprovider/disconnect', { query })
    await connect(provider, host())
  })
})

test('`?provider=` chooses one of several connected hosts; the default is the first', async () => {
  expect((await request('GET /gitprovider/status')).body.accounts).toHaveLength(2)
  expect((await request('GET /gitprovider/repos')).body.data).toMatchObject([{ fullName: 'acme/web/shop' }])
  expect((await request('GET /gitprovider/repos', { query: { provider: 'gitea' } })).body.data).toMatchObject([
    { fullName: 'acme/blog' },
  ])
  expect((await request('GET /gitprovider/repos', { query: { provider: 'github' } })).body.code).toBe('no_source')
  expect((await request('GET /gitprovider/repos', { query: { provider: 'sourceforge' } })).body).toMatchObject({
    code: 'validation_failed',
    field: 'provider',
  })
  expect((await request('GET /gitprovider/repos/:owner/:repo', on('acme/blog'))).status).toBe(404)
  await request('POST /gitprovider/disconnect', { query: { provider: 'gitlab' } })
  expect((await request('GET /gitprovider/repos')).body.data).toMatchObject([{ fullName: 'acme/blog' }])
})
