// gate: also on PostgreSQL, since it is what reads and writes the tables of policies
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { hashToken } from '../../src/platform/secrets/token.ts'
import { makeRun } from '../kit/backups.ts'
import { call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, makeToken, type People } from '../kit/people.ts'
import { makeProject } from '../kit/projects.ts'

let instance: TestInstance
let people: People
let destinationId: string
let projectId: string
beforeAll(async () => {
  instance = await startInstance()
  people = await makePeople(instance)
  const { body } = await call(instance, people.owner.token, 'POST /backup-destinations', {
    body: { name: 'Disk', kind: 'local', config: { path: 'nightly' } },
  })
  destinationId = body.data.id
})
afterAll(() => instance.stop())
beforeEach(async () => {
  projectId = (await makeProject(instance, people.owner.token)).id
})

const create = (body: object, token = people.member.token) =>
  call(instance, token, 'POST /projects/:projectId/backup-policies', { params: { projectId }, body: { destinationId, ...body } })
const made = async (body: object = {}) => {
  const answer = await create(body)
  expect([answer.status, answer.body.error]).toEqual([201, undefined])
  return answer.body.data
}
const change = (policyId: string, body: object, token = people.member.token) =>
  call(instance, token, 'PATCH /backup-policies/:policyId', { params: { policyId }, body })
const list = async () =>
  (await call(instance, people.member.token, 'GET /projects/:projectId/backup-policies', { params: { projectId } })).body.data
const scheduleOf = (policyId: string) =>
  instance.database.db.selectFrom('schedules').selectAll().where('key', '=', `backup-policy:${policyId}`).executeTakeFirst()

describe('POST /projects/:projectId/backup-policies', () => {
  test('201: only destinationId is required', async () => {
    expect(await made()).toEqual({
      id: expect.stringMatching(/^bkp_/),
      projectId,
      serviceId: null,
      destinationId,
      enabled: true,
      cronExpression: null,
      timezone: 'UTC',
      retainCount: 7,
      retainDays: null,
      payload: { volumes: 'all', databases: 'auto', exclude: [] },
      preCommand: null,
      postCommand: null,
      encryption: true,
      webhookEnabled: false,
      proveEveryDays: null,
      beforeDeploy: false,
      createdBy: people.member.userId,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
      lastRun: null,
      nextRunAt: null,
      lastProvenAt: null,
    })
  })
  test.each(['0 3 * * *', '*/5 * * * *', '0 3 * * MON-FRI', '0 3 1 JAN *', '@daily', '@hourly', '@weekly'])(
    '201: the schedule %s, and its next time',
    async (cronExpression) => {
      const policy = await made({ cronExpression })
      expect(Date.parse(policy.nextRunAt)).toBeGreaterThan(Date.now())
      expect(new Date((await scheduleOf(policy.id))!.nextRunAt).toISOString()).toBe(policy.nextRunAt)
    },
  )
  test('the next time is in the policy’s time zone', async () => {
    const { nextRunAt } = await made({ cronExpression: '30 2 * * *', timezone: 'Asia/Kolkata' })
    expect(nextRunAt).toMatch(/T21:00:00\.000Z$/)
  })
  test.each(['soon', '61 * * * *', '* * * *', '* * * * * *', '0 0 30 2 *', '@never'])(
    '400: a cron expression that cannot be parsed: %s',
    async (cronExpression) => {
      const { status, body } = await create({ cronExpression })
      expect([status, body.code, body.field]).toEqual([400, 'cron_invalid', 'cronExpression'])
      expect(await list()).toEqual([])
    },
  )
  test.each([
    [{ timezone: 'Mars/Base' }, 'timezone'],
    [{ retainCount: 0 }, 'retainCount'],
    [{ retainDays: 0 }, 'retainDays'],
    [{ encryption: false }, 'encryption'],
    [{ payload: { volumes: 'some' } }, 'payload.volumes'],
    [{ preCommand: '  ' }, 'preCommand'],
    [{ proveEveryDays: 0 }, 'proveEveryDays'],
    [{ destinationId: undefined }, 'destinationId'],
  ])('400: %j names %s', async (body, field) => {
    const answer = await create(body)
    expect([answer.status, answer.body.field]).toEqual([400, field])
  })
  test.each([
    [{}, 7, null],
    [{ retainDays: null }, 7, null],
    [{ retainDays: 30 }, null, 30],
    [{ retainCount: 3 }, 3, null],
    [{ retainCount: 3, retainDays: 30 }, 3, 30],
    [{ retainCount: null }, null, null],
    [{ retainCount: null, retainDays: null }, null, null],
  ])('retention: %j keeps %j runs and %j days', async (body, retainCount, retainDays) => {
    expect(await made(body)).toMatchObject({ retainCount, retainDays })
  })
  describe('a service or volume that the project does not have', () => {
    const services = [{ name: 'db', image: 'postgres:15', volumes: [{ type: 'volume', source: 'pg', target: '/var/lib' }] }]
    const refused = [
      [{ serviceId: 'cache' }, 'serviceId'],
      [{ payload: { volumes: ['nothing'] } }, 'payload.volumes'],
      [{ payload: { volumes: ['pg', 'nothing'] } }, 'payload.volumes'],
    ] as const
    beforeEach(async () => {
      projectId = (await makeProject(instance, people.owner.token, { type: 'services', services })).id
    })
    test('201: a service or volume that the project has', async () => {
      const policy = await made({ serviceId: 'db', payload: { volumes: ['pg'] } })
      expect([policy.serviceId, policy.payload.volumes]).toEqual(['db', ['pg']])
    })
    test.each(refused)('400: on create, %j names %s', async (body, field) => {
      const answer = await create(body)
      expect([answer.status, answer.body.field, await list()]).toEqual([400, field, []])
    })
    test.each(refused.slice(1))('400: on update, %j names %s, and nothing changes', async (body, field) => {
      const policy = await made()
      const answer = await change(policy.id, body)
      expect([answer.status, answer.body.field, await list()]).toEqual([400, field, [policy]])
    })
    test('400: any service, if the project has none', async () => {
      projectId = (await makeProject(instance, people.owner.token)).id
      const answer = await create({ serviceId: 'db' })
      expect([answer.status, answer.body.field]).toEqual([400, 'serviceId'])
    })
  })
  test('404 names destinationId for a destination that does not exist', async () => {
    const { status, body } = await create({ destinationId: 'bkd_22222222222222222222' })
    expect([status, body.field]).toEqual([404, 'destinationId'])
  })
  test('403: a viewer', async () => {
    expect((await create({}, people.viewer.token)).status).toBe(403)
  })
})

describe('PATCH /backup-policies/:policyId', () => {
  test('a token of the project may send the current destination of the policy, and no other', async () => {
    const { id } = await made()
    const token = await makeToken(instance, people.owner, { projectIds: [projectId] })
    expect((await change(id, { destinationId, retainDays: 3 }, token)).status).toBe(200)
    const refused = await change(id, { destinationId: 'bkd_22222222222222222222' }, token)
    expect([refused.status, refused.body.field]).toEqual([403, 'destinationId'])
  })
  test('only allow-listed fields are changed; project, service and creator stay', async () => {
    const policy = await made({ cronExpression: '@daily' })
    const { status, body } = await change(policy.id, {
      id: 'bkp_x',
      projectId: 'prj_x',
      serviceId: 'svc_x',
      createdBy: 'usr_x',
      webhookToken: 'mine',
      webhookTokenHash: 'mine',
      lastProvenAt: '2026-01-01T00:00:00.000Z',
      retainDays: 30,
      payload: { databases: 'off' },
    })
    expect(status).toBe(200)
    expect(body.data).toEqual({
      ...policy,
      retainDays: 30,
      payload: { ...policy.payload, databases: 'off' },
      updatedAt: expect.any(String),
    })
  })
  test('a policy without a schedule, or a disabled one, has no next run', async () => {
    const policy = await made({ cronExpression: '@daily' })
    expect((await change(policy.id, { enabled: false })).body.data.nextRunAt).toBeNull()
    expect(await scheduleOf(policy.id)).toBeUndefined()
    expect((await change(policy.id, { enabled: true })).body.data.nextRunAt).not.toBeNull()
    expect((await change(policy.id, { cronExpression: null })).body.data.nextRunAt).toBeNull()
    expect(await scheduleOf(policy.id)).toBeUndefined()
  })
  test('400: a cron expression that cannot be parsed leaves the policy unchanged', async () => {
    const policy = await made({ cronExpression: '@daily' })
    const { status, body } = await change(policy.id, { cronExpression: 'soon', retainCount: 2 })
    expect([status, body.code, body.field]).toEqual([400, 'cron_invalid', 'cronExpression'])
    expect((await list())[0]).toEqual(policy)
  })
  test('404: another destination that does not exist', async () => {
    const { id } = await made()
    expect((await change(id, { destinationId: 'bkd_22222222222222222222' })).status).toBe(404)
  })
  test('403: a user whose level on the project is reduced to read', async () => {
    const { id } = await made()
    await call(instance, people.owner.token, 'PUT /projects/:id/grants', {
      params: { id: projectId },
      body: { userId: people.member.userId, level: 'read' },
    })
    expect((await change(id, { retainCount: 2 })).status).toBe(403)
  })
})

describe('the webhook token', () => {
  test('is created when the webhook is enabled, shown once, and stored only as a hash', async () => {
    const { id } = await made()
    const { body } = await change(id, { enableWebhook: true })
    const { webhookToken, webhookEnabled } = body.data
    expect([webhookEnabled, webhookToken]).toEqual([true, expect.stringMatching(/^bwh_[a-z2-7]{40}$/)])
    const again = await change(id, { enableWebhook: true })
    expect([again.body.data.webhookEnabled, again.body.data.webhookToken]).toEqual([true, undefined])
    expect((await list())[0].webhookToken).toBeUndefined()
    const row = await instance.database.db.selectFrom('backupPolicies').selectAll().where('id', '=', id).executeTakeFirst()
    expect(row?.webhookTokenHash).toBe(hashToken(webhookToken))
    expect(JSON.stringify(row)).not.toContain(webhookToken)
  })
  test('is replaced by rotating, and deleted when the webhook is disabled', async () => {
    const { id } = await made()
    const first = (await change(id, { enableWebhook: true })).body.data.webhookToken
    const second = (await change(id, { rotateWebhookToken: true })).body.data.webhookToken
    expect(second).toMatch(/^bwh_/)
    expect(second).not.toBe(first)
    expect((await change(id, { enableWebhook: false })).body.data.webhookEnabled).toBe(false)
    const row = await instance.database.db.selectFrom('backupPolicies').selectAll().where('id', '=', id).executeTakeFirst()
    expect(row?.webhookTokenHash).toBeNull()
  })
  test.each([
    ['the webhook is off', {}],
    ['the same call turns it off', { enableWebhook: false }],
  ])('400: rotateWebhookToken while %s, and nothing changes', async (_, also) => {
    const { id } = await made()
    if ('enableWebhook' in also) await change(id, { enableWebhook: true })
    const before = (await list()).find((policy: { id: string }) => policy.id === id)
    const { status, body } = await change(id, { rotateWebhookToken: true, retainCount: 3, ...also })
    expect([status, body.field, body.error]).toEqual([400, 'rotateWebhookToken', expect.stringContaining('enableWebhook: true')])
    expect((await list()).find((policy: { id: string }) => policy.id === id)).toEqual(before)
    const enabled = await change(id, { rotateWebhookToken: true, enableWebhook: true })
    expect(enabled.body.data.webhookToken).toMatch(/^bwh_/)
  })
  test('a record that was read can be sent back: webhookEnabled is accepted, and creates no new token', async () => {
    const { id } = await made()
    await change(id, { enableWebhook: true })
    const [record] = await list()
    const { status, body } = await change(id, record)
    expect([status, body.data.webhookEnabled, body.data.webhookToken]).toEqual([200, true, undefined])
    expect((await change(id, { webhookEnabled: false })).body.data.webhookEnabled).toBe(false)
  })
  test('is not in the audit log', async () => {
    const { id } = await made()
    const { webhookToken } = (await change(id, { enableWebhook: true })).body.data
    const { body } = await call(instance, people.owner.token, 'GET /audit-log', { query: { limit: 20 } })
    expect(JSON.stringify(body)).not.toContain(webhookToken)
  })
})

describe('DELETE /backup-policies/:policyId', () => {
  const remove = (policyId: string, token: string) =>
    call(instance, token, 'DELETE /backup-policies/:policyId', { params: { policyId } })

  test('403: a member, since it needs admin on the project', async () => {
    const { id } = await made()
    expect((await remove(id, people.member.token)).status).toBe(403)
  })
  test('204: its runs are kept, without the policy', async () => {
    const { id } = await made({ cronExpression: '@daily' })
    const run = await makeRun(instance, { people, projectId, policyId: id })
    expect((await remove(id, people.admin.token)).status).toBe(204)
    expect([await list(), await scheduleOf(id)]).toEqual([[], undefined])
    const { body } = await call(instance, people.member.token, 'GET /backup-runs/:runId', { params: { runId: run.id } })
    expect([body.data.id, body.data.policyId]).toEqual([run.id, null])
  })
})
