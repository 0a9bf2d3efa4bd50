// gate: also on PostgreSQL, since it runs SQL that no other file of the gate runs
import type { BackupPolicy, BackupRestore, BackupRun } from '@berth/contract'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { StoreFailure } from '../../src/drivers/archive-store/store-failure.ts'
import { makePeople } from '../kit/people.ts'
import { type Scene, setScene, tarOf } from './scene.ts'

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
  for (const domain of ['shop.example.test', 'www.example.test'])
    await as('POST /projects/:id/connect', { params: { id: scene.projectId }, body: { domain } })
  const rule = { kind: 'rate-limit', config: { requests: 5, windowSeconds: 60 } }
  expect((await as('POST /projects/:id/route-rules', { params: { id: scene.projectId }, body: rule })).status).toBe(201)
  const variables = { upserts: [{ key: 'KEY', value: 'secret value', isSecret: true }] }
  await as('PATCH /projects/:id/env', { params: { id: scene.projectId }, body: variables })
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

test('is restored with its policies, their schedules, tokens and runs', async () => {
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
test('a policy whose destination was deleted meanwhile is not restored, and the report says so', async () => {
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
const hostnames = () =>
  scene.instance.database.db
    .selectFrom('domains')
    .select(['hostname', 'isPrimary'])
    .where('projectId', '=', scene.projectId)
    .orderBy('hostname')
    .execute()
test('its custom domains and route rules are restored, and the report lists everything that is restored', async () => {
  const { restoreId } = await prepare()
  await scene.instance.jobs.whenIdle()
  const { report } = await scene.restore(restoreId)
  const listed = report?.changes.map(({ kind, name, action }) => [kind, name, action])
  const [retired] = await scene.instance.database.db
    .selectFrom('retiredPolicies')
    .selectAll()
    .where('id', '!=', policy.id)
    .execute()
  expect(listed).toEqual(
    expect.arrayContaining([
      ['project', run.projectName, 'create'],
      ['environment', 'production', 'create'],
      ['variable', 'production/KEY', 'create'],
      ['domain', 'shop.example.test', 'create'],
      ['domain', 'www.example.test', 'create'],
      ['route rule', 'rate-limit', 'create'],
      ['backup policy', policy.id, 'create'],
      ['backup policy', retired!.id, 'create'],
      ['volume', 'data', 'create'],
    ]),
  )
  expect(report?.warnings).toEqual([])
  expect(await restored()).toMatchObject({ status: 'succeeded', report: { warnings: [] } })
  expect(await hostnames()).toEqual([
    { hostname: 'shop.example.test', isPrimary: 0 },
    { hostname: 'www.example.test', isPrimary: 1 },
  ])
  const rules = await as('GET /projects/:id/route-rules', { params: { id: scene.projectId } })
  expect(rules.body.data).toMatchObject([{ kind: 'rate-limit' }])
  const again = await prepare()
  await scene.instance.jobs.whenIdle()
  expect((await scene.restore(again.restoreId)).report?.changes.map(({ kind }) => kind)).toEqual(['volume'])
})
test('a domain that another project connected meanwhile stays with that project, and the warnings name it', async () => {
  const other = await scene.makeApp()
  const taken = { params: { id: other.id }, body: { domain: 'www.example.test' } }
  expect((await as('POST /projects/:id/connect', taken)).body.error).toBeUndefined()
  const restore = await restored()
  expect([restore.status, restore.report?.warnings]).toEqual([
    'succeeded',
    [expect.stringContaining('The slug'), expect.stringContaining('www.example.test')],
  ])
  expect(await hostnames()).toEqual([{ hostname: 'shop.example.test', isPrimary: 0 }])
})
test('the volume that was kept is saved by a pre_restore run before it is overwritten, and can be restored from it', async () => {
  expect((await restored()).status).toBe('succeeded')
  const { runtime } = scene.instance.drivers
  const volumes = () => scene.instance.database.db.selectFrom('volumes').select('id').where('projectId', '=', scene.projectId)
  const { id: volumeId } = await volumes().executeTakeFirstOrThrow()
  const content = () => Buffer.from(runtime.volumes.get(volumeId) ?? [])
  const newer = await tarOf({ 'a.txt': 'newer than the backup' })
  runtime.volumes.set(volumeId, newer)
  await as('DELETE /projects/:id', { params: { id: scene.projectId } })
  await scene.instance.jobs.whenIdle()
  expect(content()).toEqual(newer)
  const restore = await restored()
  expect([restore.status, content()]).toEqual(['succeeded', await tarOf({ 'a.txt': 'kept' })])
  const safety = await scene.run(restore.preRestoreRunId as string)
  expect(safety).toMatchObject({ status: 'succeeded', trigger: 'pre_restore', policyId: policy.id, prunedAt: null })
  expect(safety.artifacts).toMatchObject([{ name: 'data', kind: 'volume' }])
  run = safety
  expect([(await restored()).status, content()]).toEqual(['succeeded', newer])
})
test('if the kept volume cannot be saved, no data is written and the project stays deleted', async () => {
  expect((await restored()).status).toBe('succeeded')
  await as('DELETE /projects/:id', { params: { id: scene.projectId } })
  await scene.instance.jobs.whenIdle()
  scene.withStore(() => ({ check: () => Promise.reject(new StoreFailure('full', 'The disk is full')) }))
  expect(await restored()).toMatchObject({ status: 'failed', dataState: 'untouched', error: { code: 'safety_run_failed' } })
  expect((await as('GET /projects/:id', { params: { id: scene.projectId } })).status).toBe(404)
})
test('409: a restore to a copy, which would belong to no project', async () => {
  const asCopy = { params: { runId: run.id }, body: { target: 'copy' } }
  const answer = await as('POST /backup-runs/:runId/restore/prepare', asCopy)
  expect([answer.status, answer.body.code]).toEqual([409, 'not_restorable'])
  expect((await restored()).status).toBe('succeeded')
  expect((await as('POST /backup-runs/:runId/restore/prepare', asCopy)).status).toBe(201)
})
test('its runs are in GET /backup-runs, and its staged restores in GET /projects/:id/backup-restores', async () => {
  const { restoreId } = await prepare()
  const { projectId } = scene
  const runs = await as('GET /backup-runs', { query: { projectId } }, scene.people.viewer.token)
  expect(runs.body.data).toMatchObject([{ id: run.id, projectId, projectName: run.projectName }])
  const restores = () => as('GET /projects/:id/backup-restores', { params: { id: projectId }, query: { status: 'staged' } })
  expect((await restores()).body.data).toMatchObject([{ id: restoreId, status: 'staged' }])
  const outsider = (await makePeople(scene.instance)).owner.token
  expect((await as('GET /projects/:id/backup-restores', { params: { id: projectId } }, outsider)).status).toBe(404)
  expect((await as('GET /backup-runs', {}, outsider)).body.data).toEqual([])
  expect((await as('GET /projects/:id/backup-restores', { params: { id: 'prj_22222222222222222222' } })).status).toBe(404)
})
