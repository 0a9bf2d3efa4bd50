// gate: also on PostgreSQL, since operations on one project meet
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ConflictRule, conflictTable, operationKinds } from '../../src/modules/projects/operations/conflict-table.ts'
import { newId } from '../../src/platform/db/ids.ts'
import type { OperationKind, OperationPhase, ProjectOperationRow } from '../../src/platform/db/tables/projects.ts'
import { tarOf } from '../backups/scene.ts'
import { sampled } from '../kit/before-sql.ts'
import {
  current,
  type OperationsScene,
  type Requested,
  type Subject,
  setOperationsScene,
  type UnderWay,
} from './operations-scene.ts'

let scene: OperationsScene
let subject: Subject
beforeAll(async () => {
  scene = await setOperationsScene()
  subject = await scene.makeSubject()
})
afterAll(() => scene?.end())

/** `change` is one transaction: no other operation sees it running. */
const underWayStates = operationKinds
  .filter((kind) => kind !== 'change')
  .flatMap((kind) => Object.keys(conflictTable[kind]).map((phase) => [kind, phase as OperationPhase] as const))

const cell = (kind: OperationKind, phase: OperationPhase, requested: OperationKind): ConflictRule =>
  (conflictTable[kind] as Partial<Record<OperationPhase, Record<OperationKind, ConflictRule>>>)[phase]![requested]

const itself: readonly OperationKind[] = ['recover', 'wake', 'sleep']

test.each(sampled(underWayStates))(
  'while %s is %s, each operation runs concurrently, waits or is refused, as in the conflict table',
  async (kind, phase) => {
    const of = (meeting: ConflictRule) => operationKinds.filter((one) => cell(kind, phase, one) === meeting)
    await refused(kind, phase, of('refuse'))
    for (const requested of of('beside')) await beside(kind, phase, requested)
    for (const requested of of('wait')) await waits(kind, phase, requested)
  },
)

async function refused(kind: OperationKind, phase: OperationPhase, kinds: readonly OperationKind[]): Promise<void> {
  if (kinds.length === 0) return
  const underWay = await scene.begin(kind, phase, subject)
  for (const requested of kinds) {
    const { status, code, error } = await scene.perform(requested, subject)
    const what = `${requested} while ${kind} is ${phase}`
    if (itself.includes(requested)) {
      expect(status, what).toBe(0)
      continue
    }
    expect([status, code], what).toEqual([409, 'work_in_progress'])
    expect(error, what).toContain(underWay.row.subjectId ?? underWay.row.id)
    expect(error, what).toContain(new Date(underWay.row.startedAt).toISOString())
  }
  await over(underWay, kind, `refused while ${kind} is ${phase}`)
}

async function beside(kind: OperationKind, phase: OperationPhase, requested: OperationKind): Promise<void> {
  const what = `${requested} while ${kind} is ${phase}`
  const underWay = await scene.begin(kind, phase, subject)
  const before = (await scene.rows(subject)).map(({ id }) => id)
  const request = scene.perform(requested, subject)
  // A start or stop of the same instance has begun, and waits in the driver, which the test blocks.
  const underWayToo = await Promise.race([request.then(() => undefined), begun(requested, before, request)])
  if (underWayToo) expect([what, underWayToo.phase]).toEqual([what, 'running'])
  if (requested === 'disable' && deploying.includes(kind)) await cancelled(underWay, what)
  await underWay.release()
  const answered = await request
  const isDisabled = kind === 'disable' && answered.code === 'project_disabled'
  if (!isDisabled) expect([what, answered.status < 300, answered.code]).toEqual([what, true, null])
  await over(underWay, kind, what, requested)
}

const deploying: readonly OperationKind[] = ['deploy', 'redeploy', 'rollback', 'restart']

/** A disable cancels the deployment before it stops anything. */
async function cancelled({ row: { id } }: UnderWay, what: string): Promise<void> {
  const phase = async () => (await scene.rows(subject)).find((row) => row.id === id)?.phase
  await expect.poll(phase, { message: what }).not.toBe('running')
}

/** The row of a new operation; undefined if it was answered without one. */
async function begun(
  kind: OperationKind,
  before: readonly string[],
  request: Promise<unknown>,
): Promise<ProjectOperationRow | undefined> {
  let isAnswered = false
  const note = () => {
    isAnswered = true
  }
  request.then(note, note)
  while (!isAnswered) {
    const row = (await scene.rows(subject)).find((one) => one.kind === kind && !before.includes(one.id))
    if (row) return row
    await pause(5)
  }
  return undefined
}

async function waits(kind: OperationKind, phase: OperationPhase, requested: OperationKind): Promise<void> {
  const what = `${requested} while ${kind} is ${phase}`
  const underWay = await scene.begin(kind, phase, subject)
  if (requested === 'delete') {
    const answer = scene.perform(requested, subject)
    while ((await scene.rows(subject)).every((row) => row.kind !== 'delete')) await pause(5)
    await underWay.release()
    expect((await answer).status, what).toBe(200)
    return over(underWay, kind, what, requested)
  }
  const asked = await scene.perform(requested, subject)
  if (itself.includes(requested)) expect(asked.status, what).toBe(0)
  else {
    expect([what, asked.status, asked.error]).toEqual([what, 202, ''])
    if (requested === 'move') return moveWaits(asked.subjectId as string, underWay, kind, what)
    await expectWaiting(requested, asked, what)
  }
  await underWay.release()
  if (asked.subjectId && requested !== 'move') await expectDone(requested, asked.subjectId, what)
  await over(underWay, kind, what, requested)
}

/** A move packs in parallel with the other operation, and reads the data for the last time when that one has ended. */
async function moveWaits(id: string, underWay: UnderWay, kind: OperationKind, what: string): Promise<void> {
  const state = async () => (await scene.send('GET /departures/:id', { params: { id } })).body.data.state
  await expect.poll(state, { message: what }).toBe('packed')
  const lastRead = scene.hold('readVolume', subject)
  const rowsThen = lastRead.begun.then(() => scene.rows(subject))
  await scene.send('PATCH /departures/:id', { params: { id }, body: { state: 'ready' } })
  await expect.poll(() => scene.isJobRunning('transfers.depart'), { message: what }).toBe(true)
  expect([what, await state()]).toEqual([what, 'releasing'])
  await underWay.release()
  expect([what, (await rowsThen).map((row) => row.id)]).not.toEqual([what, expect.arrayContaining([underWay.row.id])])
  lastRead.release()
  await expect.poll(state, { message: what }).toBe('ready')
  await over(underWay, kind, what, 'move')
}

async function expectWaiting(kind: OperationKind, { subjectId }: Requested, what: string): Promise<void> {
  const id = subjectId as string
  const phase = async () => (await scene.rows(subject)).find((row) => row.subjectId === id)?.phase
  if (kind === 'restore') {
    await expect.poll(phase, { message: what }).toMatch(/waiting|stopped/)
    expect([what, await scene.volume(subject), (await scene.restore(id)).status]).toEqual([what, 'current', 'applying'])
    return
  }
  expect([what, await phase()]).toEqual([what, 'waiting'])
}

async function expectDone(kind: OperationKind, id: string, what: string): Promise<void> {
  if (kind === 'restore') {
    await expect.poll(async () => (await scene.restore(id)).status, { message: what, timeout: 20_000 }).toBe('succeeded')
    expect([what, await scene.volume(subject)]).toEqual([what, 'saved'])
  } else if (kind === 'backup')
    await expect.poll(async () => (await scene.run(id)).status, { message: what, timeout: 20_000 }).toBe('succeeded')
  else expect([what, (await scene.settled(id)).status]).toEqual([what, 'live'])
}

/** Checks that no operation is left running, and that data, routes and records agree. */
async function over(underWay: UnderWay, kind: OperationKind, what: string, requested?: OperationKind): Promise<void> {
  await underWay.release()
  await scene.settle(subject)
  await expect.poll(() => scene.rows(subject), { message: what, timeout: 20_000 }).toEqual([])
  const project = await scene.send('GET /projects/:id', { params: { id: subject.id } })
  const { runtime, edge } = scene.instance.drivers
  const running = () => [...runtime.running.values()].filter(({ instance }) => instance.owner.projectId === subject.id)
  const target = () => edge.table.hosts[`${subject.slug}.localhost`]?.target.kind
  if (kind === 'delete' || requested === 'delete') {
    expect([what, project.status]).toEqual([what, 404])
    await expect.poll(() => running().length, { message: what }).toBe(0)
    subject = await scene.makeSubject()
    return
  }
  if (!project.body.data.enabled) {
    await expect.poll(() => running().length, { message: what }).toBe(0)
    expect((await scene.perform('enable', subject)).status, what).toBe(200)
  }
  await expect.poll(() => [running().length, target()], { message: what, timeout: 20_000 }).toEqual([1, 'upstreams'])
  const [shown] = running()
  subject.liveId = shown!.instance.owner.deploymentId
  runtime.volumes.set(subject.volumeId, await tarOf(current))
}

test('a deployment that is building when a restore is applied goes live first; the restore does not cancel it', async () => {
  const underWay = await scene.begin('deploy', 'running', subject)
  const { subjectId } = await scene.perform('restore', subject)
  await underWay.release()
  expect(await scene.settled(underWay.row.subjectId as string)).toMatchObject({ status: 'live', error: null })
  await expectDone('restore', subjectId as string, 'after the deployment')
  await over(underWay, 'deploy', 'after both')
})

test.each([
  ['restore', 'running', 'restored', 'live'],
  ['restore', 'stopped', 'restored', 'stopped'],
  ['move', 'running', 'transferred', 'live'],
  ['move', 'stopped', 'transferred', 'stopped'],
] as const)(
  'while a %s is %s, the record shows its start, and the deletion preview names it',
  async (kind, phase, output, status) => {
    const underWay = await scene.begin(kind, phase, subject)
    const params = { id: subject.id }
    const { data } = (await scene.send('GET /projects/:id', { params })).body
    const since = new Date(underWay.row.startedAt).toISOString()
    expect([data.status, data.statusReason]).toEqual([status, expect.stringContaining(`is being ${output} since ${since}`)])
    const { blockedBy } = (await scene.send('GET /projects/:id/deletion-preview', { params })).body.data
    expect(blockedBy).toEqual([{ kind, id: underWay.row.subjectId, status: phase }])
    await over(underWay, kind, `${kind} ${phase}`)
  },
)

/** Every route that changes a project. */
const changes: readonly (readonly [`${string} /${string}`, object])[] = [
  ['PATCH /projects/:id', { name: 'Other' }],
  ['POST /projects/:id/options', { buildCommand: 'true' }],
  ['PATCH /projects/:id/env', { upserts: [{ key: 'A', value: 'b' }] }],
  ['PATCH /projects/:id/resources', { production: { memoryMb: 128 } }],
  ['POST /projects/:id/auto-deploy', { enabled: false }],
  ['POST /projects/:id/sleep-mode', { sleepMode: 'always_on' }],
  ['POST /projects/:id/connect', { domain: 'late.customer.test' }],
  ['POST /projects/:id/route-rules', { kind: 'ban', config: { ips: ['203.0.113.7'] } }],
  ['POST /projects/:id/environments', { name: 'Late' }],
]

test.each([
  ['move', 'running'],
  ['move', 'stopped'],
  ['restore', 'stopped'],
] as const)('while a %s is %s, every change of the project is 409 work_in_progress at once', async (kind, phase) => {
  const underWay = await scene.begin(kind, phase, subject)
  for (const [at, body] of changes) {
    const answer = await scene.send(at, { params: { id: subject.id }, body })
    expect([at, answer.status, answer.body.code]).toEqual([at, 409, 'work_in_progress'])
    expect(answer.body.error).toContain(underWay.row.subjectId)
  }
  await over(underWay, kind, `changes while ${kind} is ${phase}`)
})

test.each([
  ['deploy', 'running'],
  ['redeploy', 'running'],
  ['rollback', 'running'],
  ['restart', 'running'],
  ['backup', 'running'],
  ['restore', 'running'],
  ['restore', 'stopped'],
  ['move', 'running'],
] as const)('while a %s is %s, a volume that it may use is not deleted, mounted or not', async (kind, phase) => {
  const volumeId = newId('vol')
  const row = { id: volumeId, projectId: subject.id, environment: 'production', service: '', name: 'unmounted' }
  const location = { runtime: 'process', serverId: null, adopted: null, restoredFrom: null, createdAt: Date.now() } as const
  await scene.instance.database.db
    .insertInto('volumes')
    .values({ ...row, ...location })
    .execute()
  const { runtime } = scene.instance.drivers
  runtime.volumes.set(volumeId, await tarOf(current))
  const remove = () => scene.send('DELETE /projects/:id/volumes/:volumeId', { params: { id: subject.id, volumeId } })
  const underWay = await scene.begin(kind, phase, subject)
  const { status, body } = await remove()
  expect([status, body.code, body.error]).toEqual([
    409,
    'work_in_progress',
    expect.stringContaining(underWay.row.subjectId ?? ''),
  ])
  expect(runtime.volumes.has(volumeId)).toBe(true)
  await over(underWay, kind, `a volume while ${kind} is ${phase}`)
  expect((await remove()).status).toBe(204)
  expect(runtime.volumes.has(volumeId)).toBe(false)
})

test('a backup requested by a webhook during a transfer waits, and runs when the transfer was cancelled', async () => {
  const params = { policyId: subject.policyIds[0] as string }
  const policy = await scene.send('PATCH /backup-policies/:policyId', { params, body: { enableWebhook: true } })
  const underWay = await scene.begin('move', 'stopped', subject)
  const headers = { authorization: `Bearer ${policy.body.data.webhookToken}` }
  const { status, body } = await scene.send('POST /webhooks/backup', { headers })
  expect(status).toBe(202)
  expect((await scene.run(body.data.runId)).status).toBe('queued')
  await underWay.release()
  await expectDone('backup', body.data.runId, 'after the move')
  await over(underWay, 'move', 'a webhook during a move')
})
