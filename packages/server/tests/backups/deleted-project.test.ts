import type { BackupPolicy, BackupRestore, BackupRun } from '@berth/contract'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makePeople } from '../kit/people.ts'
import { type Scene, setScene } from './scene.ts'

let scene: Scene
let policy: BackupPolicy
let webhookToken: string
let run: BackupRun
beforeEach(async () => {
  scene = await setScene()
  await scene.fill({ 'a.txt': 'kept' })
  policy = await scene.makePolicy({ cronExpression: '@daily', retainDays: 30 })
  const body = { enableWebhook: true }
  const changed = await as('PATCH /backup-policies/:policyId', { params: { policyId: policy.id }, body })
  webhookToken = changed.body.data.webhookToken
  run = await scene.backUp(policy.id)
  await scene.makePolicy({ enabled: false })
  const removed = await as('DELETE /projects/:id', { params: { id: scene.projectId }, query: { deleteVolumes: true } })
  expect(removed.status).toBe(200)
  await scene.instance.jobs.whenIdle()
})
afterEach(() => scene?.end())

const as = (at: `${string} /${string}`, input: object = {}, token = scene.people.owner.token) => scene.as(token, at, input)
const prepare = async () => (await as('POST /backup-runs/:runId/restore/prepare', { params: { runId: run.id } })).body.data
const restored = async (): Promise<BackupRestore> => {
  const { restoreId, confirmationToken } = await prepare()
  await as('POST /backup-restores/:restoreId/apply', { params: { restoreId }, body: { confirmationToken } })
  await scene.instance.jobs.whenIdle()
  return scene.restore(restoreId)
}
const policies = async (): Promise<BackupPolicy[]> =>
  (await as('GET /projects/:projectId/backup-policies', { params: { projectId: scene.projectId } })).body.data

test('comes back with its policies, their schedules, tokens and runs', async () => {
  expect((await restored()).status).toBe('succeeded')
  const [first, second] = await policies()
  expect(first).toEqual({
    ...policy,
    webhookEnabled: true,
    updatedAt: expect.any(String),
    lastRun: expect.objectContaining({ id: run.id, status: 'succeeded' }),
    nextRunAt: expect.any(String),
  })
  expect(second).toMatchObject({ enabled: false })
  expect(await scene.run(run.id)).toMatchObject({ policyId: policy.id, prunedAt: null })
  const headers = { authorization: `Bearer ${webhookToken}` }
  const hook = await scene.instance.app.inject({ method: 'POST', url: '/api/webhooks/backup', headers })
  expect(hook.statusCode).toBe(202)
  expect((await scene.ended(hook.json().data.runId)).status).toBe('succeeded')
})
test('a policy whose destination was deleted meanwhile stays away, and the report says so', async () => {
  const { db } = scene.instance.database
  const { body } = await as('POST /backup-destinations', { body: { name: 'Other', kind: 'local', config: { path: 'other' } } })
  const [retired] = await db.selectFrom('retiredPolicies').selectAll().where('id', '!=', policy.id).execute()
  const changed = { ...JSON.parse(retired!.policy), destinationId: body.data.id }
  await db
    .updateTable('retiredPolicies')
    .set({ policy: JSON.stringify(changed) })
    .where('id', '=', retired!.id)
    .execute()
  await as('DELETE /backup-destinations/:id', { params: { id: body.data.id } })
  const restore = await restored()
  expect([restore.status, restore.report?.warnings.join()]).toEqual(['succeeded', expect.stringContaining(retired!.id)])
  expect((await policies()).map(({ id }) => id)).toEqual([policy.id])
})
test('its runs are in GET /backup-runs, and its staged restores in GET /projects/:id/backup-restores', async () => {
  const { restoreId } = await prepare()
  const { projectId } = scene
  const runs = await as('GET /backup-runs', { query: { projectId } }, scene.people.viewer.token)
  expect(runs.body.data).toMatchObject([{ id: run.id, projectId, projectName: run.projectName }])
  const restores = () => as('GET /projects/:id/backup-restores', { params: { id: projectId }, query: { status: 'staged' } })
  expect((await restores()).body.data).toMatchObject([{ id: restoreId, status: 'staged' }])
  const stranger = (await makePeople(scene.instance)).owner.token
  expect((await as('GET /projects/:id/backup-restores', { params: { id: projectId } }, stranger)).status).toBe(404)
  expect((await as('GET /backup-runs', {}, stranger)).body.data).toEqual([])
  expect((await as('GET /projects/:id/backup-restores', { params: { id: 'prj_22222222222222222222' } })).status).toBe(404)
})
