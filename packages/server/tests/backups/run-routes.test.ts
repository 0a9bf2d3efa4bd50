// gate: also on PostgreSQL, since it runs SQL that no other file of the gate runs
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { makeRun } from '../kit/backups.ts'
import { call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, makeToken, type People } from '../kit/people.ts'
import { makeProject } from '../kit/projects.ts'

let instance: TestInstance
let people: People
let projectId: string
beforeAll(async () => {
  instance = await startInstance()
  people = await makePeople(instance)
})
afterAll(() => instance.stop())
beforeEach(async () => {
  projectId = (await makeProject(instance, people.owner.token)).id
})

const get = (runId: string, token = people.viewer.token) =>
  call(instance, token, 'GET /backup-runs/:runId', { params: { runId } })

test('GET /projects/:projectId/backup-runs: newest first, filtered by status and policy', async () => {
  const [older, newer] = [
    await makeRun(instance, { people, projectId, createdAt: 1_000 }),
    await makeRun(instance, { people, projectId, createdAt: 2_000, status: 'succeeded' }),
  ]
  const list = async (query = {}) =>
    (
      await call(instance, people.member.token, 'GET /projects/:projectId/backup-runs', { params: { projectId }, query })
    ).body.data.map(({ id }: { id: string }) => id)
  expect(await list()).toEqual([newer.id, older.id])
  expect(await list({ status: 'succeeded' })).toEqual([newer.id])
  expect(await list({ policyId: 'bkp_22222222222222222222' })).toEqual([])
})

test('GET /backup-runs/:runId: a viewer reads it; a token of other projects does not', async () => {
  const run = await makeRun(instance, { people, projectId, errorCode: 'disk_full', errorMessage: 'The disk is full' })
  const { status, body } = await get(run.id)
  expect([status, body.data]).toEqual([
    200,
    expect.objectContaining({
      id: run.id,
      status: 'failed',
      artifacts: [],
      protected: false,
      proven: false,
      error: { code: 'disk_full', message: 'The disk is full' },
    }),
  ])
  const other = await makeProject(instance, people.owner.token)
  const limited = await makeToken(instance, people.owner, { projectIds: [other.id] })
  expect((await get(run.id, limited)).status).toBe(404)
})

describe('POST /backup-runs/:runId/protect', () => {
  const protect = (runId: string, body?: object, token = people.member.token) =>
    call(instance, token, 'POST /backup-runs/:runId/protect', { params: { runId }, ...(body ? { body } : {}) })

  test('protects without a body, permanently or until a time, and removes the protection', async () => {
    const { id } = await makeRun(instance, { people, projectId })
    expect((await protect(id)).body.data).toMatchObject({ protected: true, protectedUntil: null })
    const until = new Date(Date.now() + 86_400_000).toISOString()
    expect((await protect(id, { until })).body.data).toMatchObject({ protected: true, protectedUntil: until })
    expect((await protect(id, { protected: false })).body.data).toMatchObject({ protected: false, protectedUntil: null })
  })
  test.each([
    [{ until: '2001-01-01T00:00:00.000Z' }, 'until'],
    [{ protected: false, until: '2999-01-01T00:00:00.000Z' }, 'until'],
    [{ protected: null }, 'protected'],
  ])('400: %j names %s', async (body, field) => {
    const { id } = await makeRun(instance, { people, projectId })
    const answer = await protect(id, body)
    expect([answer.status, answer.body.field]).toEqual([400, field])
  })
  test('403: a viewer', async () => {
    const { id } = await makeRun(instance, { people, projectId })
    expect((await protect(id, {}, people.viewer.token)).status).toBe(403)
  })
  test('409: a pruned run', async () => {
    const { id } = await makeRun(instance, { people, projectId, prunedAt: 1 })
    expect((await protect(id)).status).toBe(409)
  })
})
