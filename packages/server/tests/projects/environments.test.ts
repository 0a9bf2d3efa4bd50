// gate: also on PostgreSQL, since two requests ask for one slug
import type { Environment } from '@berth/contract'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People } from '../kit/people.ts'
import { callsOn, makeProject } from '../kit/projects.ts'

let instance: TestInstance
let people: People
let project: { id: string; slug: string }
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

const create = (body: object) => on('POST', '/environments', body)
const slugs = (environments: Environment[]) => environments.map(({ slug }) => slug)

describe('GET /projects/:id/environments', () => {
  test('production exists from the start', async () => {
    const { status, body } = await on('GET', '/environments')
    expect([status, body.nextCursor]).toEqual([200, null])
    expect(body.data).toMatchObject([
      { projectId: project.id, name: 'Production', slug: 'production', type: 'production', branch: null },
    ])
    expect(body.data[0].url).toBe(`http://${project.slug}.localhost:4080`)
  })

  test('production first, then the others by age, in pages', async () => {
    for (const name of ['Alpha', 'Beta', 'Gamma']) await create({ name })
    const first = await on('GET', '/environments', undefined, { query: { limit: 3 } })
    expect(slugs(first.body.data)).toEqual(['production', 'alpha', 'beta'])
    const rest = await on('GET', '/environments', undefined, { query: { limit: 3, cursor: first.body.nextCursor } })
    expect([slugs(rest.body.data), rest.body.nextCursor]).toEqual([['gamma'], null])
  })

  test('production stays first when the clock is set back', async () => {
    const early = { now: () => new Date('2020-01-01T00:00:00Z') }
    let clock = { now: () => new Date() }
    const shifted = await startInstance({}, { clock: { now: () => clock.now() } })
    const { owner } = await makePeople(shifted)
    const calls = callsOn(shifted, owner.token)(await makeProject(shifted, owner.token))
    clock = early
    for (const name of ['One', 'Two']) expect((await calls('POST', '/environments', { name })).status).toBe(201)
    expect(slugs((await calls('GET', '/environments')).body.data)).toEqual(['production', 'one', 'two'])
    await shifted.stop()
  })
})

describe('POST /projects/:id/environments', () => {
  test('201: only the name is required; the type is preview, the slug comes from the name', async () => {
    const { status, body } = await create({ name: ' Feature Ä/1 ' })
    expect(status).toBe(201)
    expect(body.data).toMatchObject({ name: 'Feature Ä/1', slug: 'feature-a-1', type: 'preview', branch: null })
    expect(body.data.id).toMatch(/^env_[a-z2-7]{20}$/)
    expect(body.data.url).toBe(`http://feature-a-1.${project.slug}.localhost:4080`)
  })

  test('201 with slug, type and branch', async () => {
    const { body } = await create({ name: 'Dev', slug: 'dev-1', type: 'development', branch: 'develop' })
    expect(body.data).toMatchObject({ slug: 'dev-1', type: 'development', branch: 'develop' })
  })

  test('409 slug_taken: within the project, also for two concurrent requests; another project may use the slug', async () => {
    const both = await Promise.all([create({ name: 'Staging' }), create({ name: 'Other', slug: 'staging' })])
    expect(both.map(({ status }) => status).sort()).toEqual([201, 409])
    const refused = [
      ['name', { name: 'Production' }],
      ['name', { name: 'Staging' }],
      ['slug', { name: 'New', slug: 'staging' }],
    ] as const
    for (const [field, sent] of refused)
      expect((await create(sent)).body, JSON.stringify(sent)).toMatchObject({ code: 'slug_taken', field })
    const other = await makeProject(instance, people.member.token)
    expect((await callsOn(instance, people.member.token)(other)('POST', '/environments', { name: 'Staging' })).status).toBe(201)
  })

  test('names without a usable character each get a generated slug', async () => {
    for (const name of ['日本', '中国']) expect((await create({ name })).status).toBe(201)
  })

  test.each([
    ['name', {}],
    ['name', { name: ' ' }],
    ['name', { name: 'x'.repeat(81) }],
    ['name', { name: 'a\0b' }],
    ['slug', { name: 'x', slug: 'Not One' }],
    ['type', { name: 'x', type: 'staging' }],
    ['type', { name: 'x', type: 'production' }],
    ['branch', { name: 'x', branch: '-x' }],
  ])('400 names %s', async (field, body) => {
    const answer = await create(body)
    expect([answer.status, answer.body.field]).toEqual([400, field])
  })

  test('403 for a viewer', async () => {
    const answer = await callsOn(instance, people.viewer.token)(project)('POST', '/environments', { name: 'x' })
    expect([answer.status, answer.body.permission]).toEqual([403, 'project:write'])
  })
})

describe('POST /projects/:id/environments with cloneFrom', () => {
  test('copies the variables, secrets included, and the branch; later changes are independent', async () => {
    expect((await create({ name: 'Staging', branch: 'next' })).status).toBe(201)
    const upserts = [
      { key: 'PLAIN', value: 'one', isSecret: false },
      { key: 'KEY', value: 'sealed value', isSecret: true },
    ]
    expect((await on('PATCH', '/env', { environment: 'staging', upserts })).status).toBe(200)
    const { status, body } = await create({ name: 'Copy', cloneFrom: 'staging' })
    expect([status, body.data.branch]).toEqual([201, 'next'])
    expect((await on('GET', '/env?environment=copy')).body.data).toMatchObject([
      { key: 'KEY', isSecret: true, environment: 'copy' },
      { key: 'PLAIN', value: 'one', isSecret: false, environment: 'copy' },
    ])
    expect(await instance.projects.openEnv(project.id, 'copy')).toEqual({
      values: { KEY: 'sealed value', PLAIN: 'one' },
      secretKeys: ['KEY'],
    })
    await on('PATCH', '/env', { environment: 'copy', deletes: ['PLAIN'] })
    expect((await on('GET', '/env?environment=staging')).body.data).toHaveLength(2)
  })

  test('400 for an environment that does not exist, and nothing is created', async () => {
    const { status } = await create({ name: 'Copy', cloneFrom: 'nowhere' })
    expect(status).toBe(400)
    expect(slugs((await on('GET', '/environments')).body.data)).toEqual(['production'])
  })
})
