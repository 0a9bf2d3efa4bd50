import { contract, tagsOf } from '@berth/contract'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type CallInput, call } from '../kit/call.ts'
import { startInstance } from '../kit/instance.ts'
import { makePeople, makeToken } from '../kit/people.ts'
import { makeProject } from '../kit/projects.ts'
import { connectAccount, connectApp, type Scene, startScene } from './scene.ts'

type At = Parameters<typeof call>[2]
/** The spec's own routes; the others have files of their own (`git-host-handoff`, `applications`, `manifest`). */
const rows = Object.values(contract.gitHost).filter(({ at }) => !/\/(handoffs|applications|manifest)/.test(at))
const repo = '/gitprovider/repos/:owner/:repo'
const shop = { params: { owner: 'acme', repo: 'shop' } }

/** Input of every route of the section. A missing route makes the first test fail. */
const inputs: Record<string, CallInput> = {
  'GET /gitprovider/status': {},
  'GET /gitprovider/home': {},
  'GET /gitprovider/local-status': {},
  'GET /gitprovider/connect/poll': {},
  'POST /gitprovider/connect': {},
  'GET /gitprovider/connect/redirect': {},
  'POST /gitprovider/disconnect': {},
  'GET /gitprovider/repos': {},
  'POST /gitprovider/repos': { body: { name: 'shop', private: true, owner: 'acme' } },
  'GET /gitprovider/orgs/:org/repos': { params: { org: 'acme' } },
  [`GET ${repo}`]: shop,
  [`DELETE ${repo}`]: shop,
  [`GET ${repo}/branches`]: shop,
  [`GET ${repo}/clone-token`]: shop,
  [`GET ${repo}/files`]: shop,
  [`GET ${repo}/file`]: { ...shop, query: { file: 'README.md' } },
  [`GET ${repo}/webhooks`]: shop,
  [`POST ${repo}/webhooks`]: shop,
  [`DELETE ${repo}/webhooks`]: { ...shop, body: { hookId: 1 } },
}
const inputOf = (at: string): CallInput => inputs[at]!
/** Routes that ask the host about an object that may not exist. */
const ofRepository = Object.keys(inputs).filter((at) => at.includes(repo))
const ofHost = [...ofRepository, 'GET /gitprovider/repos', 'POST /gitprovider/repos', 'GET /gitprovider/orgs/:org/repos']
const signedIn = rows.filter((row) => !('public' in row && row.public))

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
const answers = async (
  ats: readonly string[],
  request: (at: At, input: CallInput) => Promise<{ status: number; body: { code?: string } }>,
) => {
  const all: Record<string, string> = {}
  for (const at of ats) {
    const { status, body } = await request(at as At, inputOf(at))
    all[at] = `${status} ${body?.code ?? ''}`.trim()
  }
  return all
}
const each = (ats: readonly string[], answer: string) => Object.fromEntries(ats.map((at) => [at, answer]))
const asWith = (token: string | null) => (at: At, input: CallInput) => call(scene.instance, token, at, input)

test('this file calls each of the 19 routes', () => {
  expect(rows.map(({ at }) => at).sort()).toEqual(Object.keys(inputs).sort())
  expect(rows).toHaveLength(19)
})

describe('permissions', () => {
  const ats = signedIn.map(({ at }) => at)

  test('401: not signed in', async () => {
    expect(await answers(ats, asWith(null))).toEqual(each(ats, '401 unauthorized'))
  })

  test('403: the token lacks the tag, or is limited to a project; the role lacks it', async () => {
    const { id } = await makeProject(scene.instance, scene.people.owner.token)
    const lacking = await makeToken(scene.instance, scene.people.owner, { scopes: ['project:read'] })
    expect(await answers(ats, asWith(lacking))).toEqual(each(ats, '403 forbidden'))
    const limited = await makeToken(scene.instance, scene.people.owner, { projectIds: [id] })
    expect(await answers(ats, asWith(limited))).toEqual(each(ats, '403 forbidden'))
    for (const role of ['member', 'viewer'] as const) {
      const closed = signedIn.filter(({ permission }) => !tagsOf(role).has(permission!)).map(({ at }) => at)
      expect(closed.length).toBeGreaterThan(2)
      expect(await answers(closed, scene.as(role))).toEqual(each(closed, '403 forbidden'))
    }
  })
})

describe('400', () => {
  test('400 without a usable source; a clone token is 409', async () => {
    const expected = { ...each(ofHost, '400 no_source'), [`GET ${repo}/clone-token`]: '409 no_app_installation' }
    expect(await answers(ofHost, scene.request)).toEqual(expected)
  })

  test('an unknown host, with the name of the field', async () => {
    const requested = signedIn.filter(({ query }) => query && 'provider' in query.properties).map(({ at }) => at)
    expect(requested).toHaveLength(17)
    for (const at of requested) {
      const input = inputOf(at)
      const { status, body } = await scene.request(at as At, { ...input, query: { ...input.query, provider: 'sourceforge' } })
      expect([at, status, body.field]).toEqual([at, 400, 'provider'])
    }
  })

  test.each([
    ['POST /gitprovider/connect', { source: 'app' }, 'source'],
    ['POST /gitprovider/disconnect', { source: 'none' }, 'source'],
    ['POST /gitprovider/repos', { private: true }, 'name'],
    ['POST /gitprovider/repos', { name: '../x' }, 'name'],
    ['POST /gitprovider/repos', { name: 'x', owner: '-x' }, 'owner'],
    ['POST /gitprovider/repos', { name: 'x', private: 'yes' }, 'private'],
    [`DELETE ${repo}/webhooks`, {}, 'hookId'],
    [`DELETE ${repo}/webhooks`, { hookId: '1' }, 'hookId'],
  ])('%s %j names %s', async (at, body, field) => {
    const answer = await scene.request(at as At, { ...inputOf(at), body })
    expect([answer.status, answer.body.field]).toEqual([400, field])
  })

  test('a callback without a state, or with an unknown one', async () => {
    for (const query of [{}, { state: 'x' }, { state: 'a.b', code: 'c' }] as Record<string, string>[])
      expect((await call(scene.instance, null, 'GET /gitprovider/connect/redirect', { query })).status).toBe(400)
  })
})

test('404: the repository is not visible to the account or the app', async () => {
  const nowhere = { params: { owner: 'acme', repo: 'no-such' } }
  for (const connect of [connectAccount, connectApp]) {
    await connect(scene)
    for (const at of ofRepository.filter((one) => connect === connectApp || !one.endsWith('clone-token'))) {
      const { status, body } = await scene.request(at as At, { ...inputOf(at), ...nowhere })
      expect([at, status, body.code]).toEqual([at, 404, 'not_found'])
    }
    const org = await scene.request('GET /gitprovider/orgs/:org/repos', { params: { org: 'no-such-org' } })
    expect([org.status, org.body.code]).toEqual([404, 'not_found'])
    await scene.request('POST /gitprovider/disconnect')
  }
})

test('404: routes for self-hosted instances only, in cloud mode', async () => {
  const cloud = await startInstance({ BERTH_MODE: 'cloud' })
  try {
    const { owner } = await makePeople(cloud)
    for (const at of ['GET /gitprovider/local-status', 'GET /gitprovider/connect/poll'] as const)
      expect([at, (await call(cloud, owner.token, at)).status]).toEqual([at, 404])
    expect((await call(cloud, owner.token, 'GET /gitprovider/status')).status).toBe(200)
  } finally {
    await cloud.stop()
  }
})

test('409: the repository exists already; a clone token without an installation for the owner', async () => {
  await connectAccount(scene)
  const made = await scene.request('POST /gitprovider/repos', inputOf('POST /gitprovider/repos'))
  expect([made.status, made.body.code]).toEqual([409, 'conflict'])
  const token = await scene.request(`GET ${repo}/clone-token`, shop)
  expect([token.status, token.body.code]).toEqual([409, 'no_app_installation'])
})

test('503: the rate limit of the host is used up, on every route that calls it; status and home answer', async () => {
  await connectApp(scene)
  const headers = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(Math.ceil(Date.now() / 1000) + 1800) }
  scene.host.intercept = () => ({ status: 403, json: { message: 'API rate limit exceeded' }, headers })
  expect(await answers(ofHost, scene.request)).toEqual(each(ofHost, '503 git_host_limited'))
  expect((await scene.request('GET /gitprovider/status')).status).toBe(200)
  expect((await scene.request('GET /gitprovider/home')).body).toMatchObject({ state: 'error', repos: [] })
})

test('success of each route, in the order of use', async () => {
  await connectApp(scene)
  const quiet = ofHost.filter((at) => at.startsWith('GET'))
  expect(await answers(quiet, scene.request)).toEqual(each(quiet, '200'))
  const general = [
    'GET /gitprovider/status',
    'GET /gitprovider/home',
    'GET /gitprovider/local-status',
    'POST /gitprovider/connect',
  ]
  expect(await answers([...general, 'GET /gitprovider/connect/poll'], scene.request)).toEqual(
    each([...general, 'GET /gitprovider/connect/poll'], '200'),
  )
  const made = await scene.request('POST /gitprovider/repos', { body: { name: 'made', private: true, owner: 'acme' } })
  expect(made.status).toBe(201)
  const at = { params: { owner: 'acme', repo: 'made' } }
  const hook = await scene.request(`POST ${repo}/webhooks`, at)
  expect([hook.status, (await scene.request(`POST ${repo}/webhooks`, at)).status]).toEqual([201, 200])
  expect((await scene.request(`DELETE ${repo}/webhooks`, { ...at, body: { hookId: hook.body.data.id } })).status).toBe(204)
  expect((await scene.request(`DELETE ${repo}`, at)).status).toBe(204)
  expect((await scene.request('POST /gitprovider/disconnect')).body.data).toMatchObject({ state: 'disconnected' })
})
