import { afterAll, beforeAll, expect, test } from 'vitest'
import { call } from './kit/call.ts'
import { startInstance, type TestInstance } from './kit/instance.ts'
import { makePeople, type People } from './kit/people.ts'
import { makeProject } from './kit/projects.ts'

let instance: TestInstance
let people: People
beforeAll(async () => {
  instance = await startInstance()
  people = await makePeople(instance)
})
afterAll(() => instance.stop())

test('writes that arrive together: the refused ones change nothing, and each other one is recorded once, in one chain', async () => {
  const projects = await Promise.all(
    Array.from({ length: 8 }, (_, at) => makeProject(instance, people.admin.token, { name: `Shop ${at}` })),
  )
  const rename = (id: string) =>
    call(instance, people.admin.token, 'PATCH /projects/:id', { params: { id }, body: { slug: 'wanted', name: `Renamed ${id}` } })
  const setVariable = (id: string) =>
    call(instance, people.admin.token, 'PATCH /projects/:id/env', {
      params: { id },
      body: { upserts: [{ key: 'ID', value: id }] },
    })
  const answers = await Promise.all(projects.flatMap(({ id }) => [rename(id), setVariable(id)]))
  const statuses = answers.map(({ status }) => status)
  expect(statuses.filter((status) => status === 200)).toHaveLength(1 + projects.length)
  expect(statuses.filter((status) => status === 409)).toHaveLength(projects.length - 1)

  const { db } = instance.database
  const stored = await db.selectFrom('projects').select(['id', 'name', 'slug', 'envVersion']).orderBy('id').execute()
  expect(stored.filter(({ slug }) => slug === 'wanted')).toHaveLength(1)
  for (const { id, name, slug } of stored) expect(name === `Renamed ${id}`).toBe(slug === 'wanted')
  const entries = await db.selectFrom('auditLog').selectAll().orderBy('sequence').execute()
  const changes = entries.filter(({ action }) => action.startsWith('PATCH'))
  expect(changes.filter(({ action }) => action === 'PATCH /projects/:id/env')).toHaveLength(projects.length)
  expect(changes.filter(({ action }) => action === 'PATCH /projects/:id')).toHaveLength(1)
  const ofOrganization = entries.filter(({ organizationId }) => organizationId === changes[0]?.organizationId)
  for (const [at, entry] of ofOrganization.entries()) if (at > 0) expect(entry.previousHash).toBe(ofOrganization[at - 1]?.hash)
})
