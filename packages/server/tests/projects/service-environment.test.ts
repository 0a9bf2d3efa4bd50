// gate: also on PostgreSQL, since it runs SQL that no other file of the gate runs
import { secretMask } from '@berth/contract'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People } from '../kit/people.ts'
import { callsOn, makeProject } from '../kit/projects.ts'

let instance: TestInstance
let people: People
let project: Awaited<ReturnType<typeof makeProject>>
let on: ReturnType<ReturnType<typeof callsOn>>
const services = [
  { name: 'web', image: 'shop', exposed: true, ports: [80], environment: { DATABASE_URL: 'canary-url', EMPTY: '' } },
  { name: 'db', image: 'postgres:17', environment: { POSTGRES_PASSWORD: 'canary-password' } },
  { name: 'cache', image: 'redis' },
]
beforeAll(async () => {
  instance = await startInstance()
  people = await makePeople(instance)
})
beforeEach(async () => {
  project = await makeProject(instance, people.member.token, { type: 'services', services })
  on = callsOn(instance, people.member.token)(project)
})
afterAll(() => instance.stop())

const stored = async () => {
  const found = instance.database.db.selectFrom('projects').select('services').where('id', '=', project.id)
  return JSON.parse((await found.executeTakeFirstOrThrow()).services)
}

test('values of services[].environment are masked in every read, and in the audit log', async () => {
  expect(project.config.services).toMatchObject([
    { name: 'web', environment: { DATABASE_URL: secretMask, EMPTY: secretMask } },
    { name: 'db', environment: { POSTGRES_PASSWORD: secretMask } },
    { name: 'cache' },
  ])
  await on('PATCH', '', { services })
  await on('POST', '/options', { services })
  const reads = ['', '/info', '/environments', '/deletion-preview', '/resources'] as const
  const viewer = callsOn(instance, people.viewer.token)(project)
  const answers = await Promise.all(reads.map((path) => viewer('GET', path)))
  for (const at of ['GET /projects', 'GET /projects/home', 'GET /projects/local'] as const)
    answers.push(await call(instance, people.viewer.token, at))
  answers.push(await call(instance, people.owner.token, 'GET /audit-log', { query: { objectId: project.id } }))
  for (const { status, body } of answers) expect([status, JSON.stringify(body).includes('canary')]).toEqual([200, false])
  expect(await stored()).toEqual(services)
})

test.each(['PATCH', 'ensure', 'options'])('%s: sending back the mask keeps the values', async (way) => {
  const sent = structuredClone(project.config.services)
  Object.assign(sent[0]!.environment!, { DATABASE_URL: 'new', ADDED: 'more' })
  const body = { services: sent }
  const answer =
    way === 'PATCH'
      ? await on('PATCH', '', body)
      : way === 'options'
        ? await on('POST', '/options', body)
        : await call(instance, people.member.token, 'POST /projects/ensure', {
            body: { ...body, name: 'Shop', projectId: project.id },
          })
  expect(answer.status).toBe(200)
  expect(await stored()).toMatchObject([
    { environment: { DATABASE_URL: 'new', EMPTY: '', ADDED: 'more' } },
    { environment: { POSTGRES_PASSWORD: 'canary-password' } },
    { name: 'cache' },
  ])
})

test('400: a mask without a stored value, on create and on update; nothing changes', async () => {
  const masked = [{ name: 'other', image: 'x', environment: { A: secretMask } }]
  const created = await call(instance, people.member.token, 'POST /projects', { body: { name: 'x', services: masked } })
  for (const answer of [created, await on('PATCH', '', { services: masked })])
    expect([answer.status, answer.body.field]).toEqual([400, 'services.0.environment.A'])
  expect(await stored()).toEqual(services)
})
