// gate: also on PostgreSQL, since two requests replace the rules at once
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type ProjectSignal, projectsTopic } from '../../src/modules/projects/index.ts'
import { isReread } from '../../src/platform/signals/signals.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People } from '../kit/people.ts'
import { callsOn, makeProject } from '../kit/projects.ts'

let instance: TestInstance
let people: People
let project: Awaited<ReturnType<typeof makeProject>>
let on: ReturnType<ReturnType<typeof callsOn>>
beforeAll(async () => {
  instance = await startInstance()
  people = await makePeople(instance)
})
beforeEach(async () => {
  project = await makeProject(instance, people.member.token)
  on = callsOn(instance, people.member.token)(project)
})
afterAll(() => instance.stop())

const soon = () => new Date(Date.now() + 3_600_000).toISOString()
const create = (body: object) => on('POST', '/route-rules', body)
const made = async (body: object) => (await create(body)).body.data
const change = (id: string, body: object) => on('PATCH', '/route-rules/:ruleId', body, { params: { ruleId: id } })
const list = async () => (await on('GET', '/route-rules')).body.data
const limit = { kind: 'rate-limit', config: { requests: 100, windowSeconds: 60 } }

describe('POST /projects/:id/route-rules', () => {
  test('201: enabled and not a dry run by default, without hits', async () => {
    const { status, body } = await create(limit)
    expect(status).toBe(201)
    expect(body.data).toEqual({
      id: expect.stringMatching(/^rul_/),
      projectId: project.id,
      kind: 'rate-limit',
      enabled: true,
      pathPrefix: null,
      hostname: null,
      dryRun: false,
      expiresAt: null,
      config: { requests: 100, windowSeconds: 60 },
      hits: 0,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    })
    expect(await list()).toEqual([body.data])
  })

  test('every field is stored as sent', async () => {
    const expiresAt = soon()
    const fields = { enabled: false, pathPrefix: '/api', dryRun: true, expiresAt }
    await on('POST', '/connect', { domain: 'shop.example.test' })
    const rule = await made({ kind: 'ban', ...fields, hostname: 'Shop.Example.test', config: { userAgents: ['badbot'] } })
    expect(rule).toMatchObject({ kind: 'ban', ...fields, hostname: 'shop.example.test', config: { userAgents: ['badbot'] } })
  })

  test.each([
    [{ ...limit, expiresAt: '2001-01-01T00:00:00Z' }, 'expiresAt'],
    [{ ...limit, expiresAt: 'tomorrow' }, 'expiresAt'],
    [{ ...limit, pathPrefix: 'api' }, 'pathPrefix'],
    [{ ...limit, hostname: 'no host' }, 'hostname'],
    [{ kind: 'teapot', config: {} }, 'kind'],
    [{ kind: 'ban' }, 'config'],
    [{ kind: 'ban', config: {} }, 'config'],
    [{ kind: 'ban', config: { ips: ['203.0.113.7', 'x'] } }, 'config.ips.1'],
    [{ kind: 'ban', config: { userAgents: ['a\0b'] } }, 'config.userAgents.0'],
    [{ kind: 'rate-limit', config: { requests: 5 } }, 'config.windowSeconds'],
    [{ kind: 'allow-deny', config: { allow: ['10.0.0.0/40'] } }, 'config.allow.0'],
  ])('400 names the field: %j', async (body, field) => {
    const { status, body: answer } = await create(body)
    expect([status, answer.field]).toEqual([400, field])
    expect(await list()).toEqual([])
  })

  test('400 names `hostname` for a host name that the project does not have', async () => {
    await on('POST', '/environments', { name: 'Staging' })
    const free = project.routes[0]!.hostname
    const other = (await makeProject(instance, people.member.token)).routes[0]!.hostname
    const rule = await made(limit)
    for (const hostname of ['elsewhere.example.test', other, `x.${free}`, `${free}.example.test`]) {
      expect((await create({ ...limit, hostname })).body).toMatchObject({ code: 'validation_failed', field: 'hostname' })
      expect((await change(rule.id, { hostname })).body).toMatchObject({ code: 'validation_failed', field: 'hostname' })
    }
    expect(await list()).toEqual([rule])
    for (const hostname of [free, `staging.${free}`, null])
      expect((await change(rule.id, { hostname })).body.data).toMatchObject({ hostname })
  })

  test('the rule of a free host name follows the project to its new slug', async () => {
    const { slug, routes } = project
    const rule = await made({ ...limit, hostname: routes[0]!.hostname })
    await on('PATCH', '', { slug: `${slug}-new` })
    expect(await list()).toMatchObject([{ id: rule.id, hostname: routes[0]!.hostname.replace(slug, `${slug}-new`) }])
  })

  test('a viewer can read rules and not change them', async () => {
    const viewer = callsOn(instance, people.viewer.token)(project)
    expect((await viewer('GET', '/route-rules')).status).toBe(200)
    expect((await viewer('POST', '/route-rules', limit)).status).toBe(403)
  })
})

describe('PATCH and DELETE', () => {
  test('PATCH merges: only named fields change, in the config too; null removes an optional field', async () => {
    const rule = await made({ ...limit, pathPrefix: '/api', config: { requests: 100, windowSeconds: 60, burst: 5 } })
    const { status, body } = await change(rule.id, { config: { requests: 7, burst: null }, enabled: false })
    expect(status).toBe(200)
    expect(body.data).toMatchObject({ pathPrefix: '/api', enabled: false, config: { requests: 7, windowSeconds: 60 } })
    expect(body.data.config).not.toHaveProperty('burst')
    expect((await change(rule.id, { pathPrefix: null })).body.data).toMatchObject({ pathPrefix: null, enabled: false })
  })

  test('an invalid rule is refused and changes nothing', async () => {
    const rule = await made(limit)
    expect((await change(rule.id, { config: { requests: null } })).body.field).toBe('config.requests')
    expect((await change(rule.id, { kind: 'ban' })).body.field).toBe('config')
    expect((await change(rule.id, { expiresAt: '2001-01-01T00:00:00Z' })).body.field).toBe('expiresAt')
    expect(await list()).toEqual([rule])
  })

  test('a rule can change its kind, with a config of the new kind', async () => {
    const rule = await made(limit)
    const { body } = await change(rule.id, { kind: 'ban', config: { ips: ['203.0.113.0/24'] } })
    expect(body.data).toMatchObject({ kind: 'ban', config: { ips: ['203.0.113.0/24'] } })
  })

  test('concurrent changes are all kept', async () => {
    const rule = await made(limit)
    await Promise.all([
      change(rule.id, { config: { requests: 3 } }),
      change(rule.id, { config: { burst: 4 } }),
      change(rule.id, { config: { status: 503 } }),
    ])
    expect((await list())[0].config).toEqual({ requests: 3, windowSeconds: 60, burst: 4, status: 503 })
  })

  test('204: removed, then 404', async () => {
    const rule = await made(limit)
    const remove = () => on('DELETE', '/route-rules/:ruleId', undefined, { params: { ruleId: rule.id } })
    expect((await remove()).status).toBe(204)
    expect((await remove()).status).toBe(404)
    expect(await list()).toEqual([])
  })

  test('404: a rule of another project, or of another organisation', async () => {
    const rule = await made(limit)
    const other = callsOn(instance, people.member.token)(await makeProject(instance, people.member.token))
    expect((await other('PATCH', '/route-rules/:ruleId', {}, { params: { ruleId: rule.id } })).status).toBe(404)
    const outsider = callsOn(instance, (await makePeople(instance)).owner.token)(project)
    expect((await outsider('PATCH', '/route-rules/:ruleId', {}, { params: { ruleId: rule.id } })).status).toBe(404)
  })
})

test('hits are reported', async () => {
  const rule = await made(limit)
  await instance.database.db.updateTable('routeRules').set({ hits: 42 }).where('id', '=', rule.id).execute()
  expect((await list())[0].hits).toBe(42)
})

test('the list has pages, oldest first', async () => {
  const ids = []
  for (const requests of [1, 2, 3]) ids.push((await made({ ...limit, config: { requests, windowSeconds: 1 } })).id)
  const first = (await on('GET', '/route-rules', undefined, { query: { limit: 2 } })).body
  const second = (await on('GET', '/route-rules', undefined, { query: { limit: 2, cursor: first.nextCursor } })).body
  const seen = [...first.data, ...second.data].map(({ id }: { id: string }) => id)
  expect([seen.sort(), second.nextCursor]).toEqual([ids.sort(), null])
})

test('each change is signalled, so that the edge applies it at once', async () => {
  const heard: string[] = []
  const end = instance.database.signals.subscribe<ProjectSignal>(projectsTopic, (event) => {
    if (!isReread(event)) heard.push(event.projectId)
  })
  const heardOf = (count: number) => expect.poll(() => heard.filter((id) => id === project.id).length).toBe(count)
  const rule = await made(limit)
  await heardOf(1)
  await change(rule.id, { enabled: false })
  await heardOf(2)
  await on('DELETE', '/route-rules/:ruleId', undefined, { params: { ruleId: rule.id } })
  await heardOf(3)
  end()
})
