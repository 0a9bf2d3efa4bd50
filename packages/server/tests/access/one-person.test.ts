// gate: also on PostgreSQL, since it runs SQL that no other file of the gate runs
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Isolation } from '../../src/drivers/runtime/runtime.ts'
import { call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { memoryDrivers } from '../kit/memory-runtime.ts'
import { makePeople, type People, password } from '../kit/people.ts'
import { makeProject } from '../kit/projects.ts'

const startWith = (kind: Isolation['kind'], env: Record<string, string> = {}, drivers = memoryDrivers(tmpdir())) => {
  drivers.runtime.isolation = { kind, message: `it is ${kind}` }
  return startInstance(env, { drivers })
}

describe('without isolation between projects', () => {
  let instance: TestInstance
  let people: People
  beforeAll(async () => {
    instance = await startWith('none')
    people = await makePeople(instance)
  })
  afterAll(() => instance.stop())
  const asOwner = (row: Parameters<typeof call>[2], input: object = {}) => call(instance, people.owner.token, row, input)
  const invite = (role: string) => asOwner('POST /invitations', { body: { email: `${role}@example.test`, role } })

  test('409: a second organisation is refused with the reason', async () => {
    const { status, body } = await asOwner('POST /organizations', { body: { name: 'Second' } })
    expect([status, body.code]).toEqual([409, 'no_isolation'])
    expect(body.error).toContain('BERTH_TRUST_EVERYONE')
  })

  test.each(['owner', 'admin', 'member'])('409: an invitation with the role %s is refused', async (role) => {
    const { status, body } = await invite(role)
    expect([status, body.code, body.field]).toEqual([409, 'no_isolation', 'role'])
  })

  test('an existing invitation cannot be accepted either, and stays valid for later', async () => {
    const { body } = await invite('viewer')
    await instance.database.db.updateTable('invitations').set({ role: 'member' }).where('id', '=', body.data.id).execute()
    const accept = () =>
      call(instance, null, 'POST /invitations/accept', {
        body: { code: body.data.code, email: 'viewer@example.test', password },
      })
    expect((await accept()).body.code).toBe('no_isolation')
    await instance.database.db.updateTable('invitations').set({ role: 'viewer' }).where('id', '=', body.data.id).execute()
    expect((await accept()).status).toBeLessThan(300)
  })

  test('409: a viewer cannot get the permission to deploy, by role or by a grant', async () => {
    const { userId } = people.viewer
    const change = await asOwner('PATCH /members/:userId', { params: { userId }, body: { role: 'member' } })
    expect(change.body.code).toBe('no_isolation')
    const project = await makeProject(instance, people.owner.token)
    const grant = (level: string) => asOwner('PUT /projects/:id/grants', { params: { id: project.id }, body: { userId, level } })
    expect((await grant('write')).body.code).toBe('no_isolation')
    expect((await grant('read')).status).toBeLessThan(300)
  })

  test('if several users may deploy already, the start ends with the reason', async () => {
    expect(await instance.access.tooManyUsers()).toContain('3 users in 1 organisations can deploy')
  })
})

test('with BERTH_TRUST_EVERYONE or with isolation, all of these are accepted', async () => {
  for (const [kind, env] of [
    ['none', { BERTH_TRUST_EVERYONE: 'true' }],
    ['own-users', {}],
  ] as const) {
    const instance = await startWith(kind, env)
    try {
      const { owner } = await makePeople(instance)
      expect(instance.isSingleUser).toBe(false)
      expect((await call(instance, owner.token, 'POST /organizations', { body: { name: 'Second' } })).status).toBe(201)
      const body = { email: 'new@example.test', role: 'member' }
      expect((await call(instance, owner.token, 'POST /invitations', { body })).status).toBe(201)
    } finally {
      await instance.stop()
    }
  }
})

test('health shows the isolation to signed-in callers only', async () => {
  const drivers = memoryDrivers(tmpdir())
  const instance = await startWith('bubblewrap', {}, drivers)
  try {
    const { viewer } = await makePeople(instance)
    const plain = { status: 'ok', version: '0.0.0-test', mode: 'self-hosted' }
    expect((await call(instance, null, 'GET /health')).body).toEqual({ data: plain })
    expect((await call(instance, 'brt_wrong', 'GET /health')).body).toEqual({ data: plain })
    const isolation = { kind: 'bubblewrap', message: 'it is bubblewrap' }
    expect((await call(instance, viewer.token, 'GET /health')).body).toEqual({ data: { ...plain, worker: 'ok', isolation } })
    // Isolation may change while the instance runs: an egress filter that was removed must not be reported.
    const less = { kind: 'docker' as const, message: 'Docker, and nothing around it' }
    drivers.runtime.isolation = { kind: less.kind, message: less.message }
    expect((await call(instance, viewer.token, 'GET /health')).body).toEqual({
      data: { ...plain, worker: 'ok', isolation: less },
    })
  } finally {
    await instance.stop()
  }
})
