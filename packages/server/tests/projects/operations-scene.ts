import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { newBundleKey } from '../../src/drivers/archive/bundle-key.ts'
import type { Parts } from '../../src/instance/assemble/assemble.ts'
import {
  beginOperation,
  endOperation,
  enterDiscarding,
  lockProject,
  runLeasedOperation,
} from '../../src/modules/projects/index.ts'
import { newId } from '../../src/platform/db/ids.ts'
import type { OperationKind, OperationPhase, ProjectOperationRow } from '../../src/platform/db/tables/projects.ts'
import { silentLog } from '../../src/platform/log.ts'
import { type Scene, setScene, tarOf } from '../backups/scene.ts'
import { type Answer, type CallInput, call } from '../kit/call.ts'
import type { TestInstance } from '../kit/instance.ts'
import { makeProject } from '../kit/projects.ts'

/** A live project with a volume, a policy, and a good backup of what its volume held once. */
export interface Subject {
  id: string
  slug: string
  volumeId: string
  policyIds: string[]
  cronJobId: string
  runId: string
  liveId: string
}

export type RequestTarget = Pick<TestInstance, 'app'>

/** Outcome of a request for an operation. */
export interface Requested {
  status: number
  code: string | null
  error: string
  /** The deployment, run, restore or transfer. */
  subjectId: string | null
}

export const saved = { 'a.txt': 'as it was saved' }
export const current = { 'a.txt': 'as it is now' }

type Gate = 'build' | 'task' | 'start' | 'stop' | 'readVolume' | 'writeVolume'

export interface OperationsScene extends Scene {
  makeSubject(): Promise<Subject>
  /** Requests the operation as a client or the service itself does. */
  perform(kind: OperationKind, subject: Subject, target?: RequestTarget): Promise<Requested>
  /** Blocks driver calls for the project from now on; `begun` resolves once a call is blocked. */
  hold(gate: Gate, subject: Subject): { begun: Promise<void>; release(): void }
  /** Brings the operation into the phase and holds it there until it is released. */
  begin(kind: OperationKind, phase: OperationPhase, subject: Subject): Promise<UnderWay>
  rows(subject: Subject): Promise<ProjectOperationRow[]>
  isJobRunning(kind: string): Promise<boolean>
  volume(subject: Subject): Promise<'saved' | 'current' | 'other'>
  /** Ends all running operations; transfers without a coordinator are cancelled. */
  settle(subject: Subject): Promise<void>
  send(at: `${string} /${string}`, input?: CallInput, target?: RequestTarget): Promise<Answer>
}

export interface UnderWay {
  row: ProjectOperationRow
  release(): Promise<void>
}

export async function setOperationsScene(parts: Partial<Parts> = {}): Promise<OperationsScene> {
  const scene = await setScene(parts)
  const { instance, people, source, destinationId } = scene
  const { runtime } = instance.drivers
  const { database } = instance
  const { db } = database
  const clock = parts.clock ?? { now: () => new Date() }
  const deps = { database, clock, log: silentLog }
  const send: OperationsScene['send'] = (at, input, target = instance) => call(target, people.owner.token, at as 'GET /', input)
  const gates = new Map<string, { begun: PromiseWithResolvers<void>; going: Promise<void> }>()
  const pass = async (gate: Gate, key: string, abort?: AbortSignal) => {
    const found = gates.get(`${gate}:${key}`)
    if (!found) return
    found.begun.resolve()
    const aborted = new Promise<never>((_, reject) => abort?.addEventListener('abort', () => reject(abort.reason)))
    await Promise.race([found.going, aborted])
  }
  const { start, stop, writeVolume, readVolume } = runtime
  runtime.whileBuilding = async ({ owner }, _, abort) => pass('build', owner.projectId, abort)
  runtime.whileTask = async ({ owner }) => pass('task', owner.projectId).then(() => 0)
  runtime.start = async (request) => {
    await pass('start', request.owner.projectId)
    return start.call(runtime, request)
  }
  runtime.stop = async (id) => {
    await pass('stop', runtime.running.get(id)?.instance.owner.projectId ?? '')
    return stop.call(runtime, id)
  }
  runtime.writeVolume = async (id, tar) => {
    await pass('writeVolume', id)
    return writeVolume.call(runtime, id, tar)
  }
  runtime.readVolume = async function* (id) {
    await pass('readVolume', id)
    yield* readVolume.call(runtime, id)
  }
  const hold: OperationsScene['hold'] = (gate, { id, volumeId }) => {
    const key = `${gate}:${gate.endsWith('Volume') ? volumeId : id}`
    const [begun, going] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    gates.set(key, { begun, going: going.promise })
    const release = () => {
      gates.delete(key)
      going.resolve()
    }
    return { begun: begun.promise, release }
  }
  const rows: OperationsScene['rows'] = ({ id }) =>
    db.selectFrom('projectOperations').selectAll().where('projectId', '=', id).orderBy('startedAt').execute()
  const underWay = async (subject: Subject, kind: OperationKind, phase: OperationPhase): Promise<ProjectOperationRow> => {
    for (;;) {
      const row = (await rows(subject)).find((one) => one.kind === kind && one.phase === phase)
      if (row) return row
      await pause(5)
    }
  }
  const departure = async (id: string) => (await send('GET /departures/:id', { params: { id } })).body.data.state as string
  const changeDeparture = (id: string, state: string) => send('PATCH /departures/:id', { params: { id }, body: { state } })

  async function makeSubject(): Promise<Subject> {
    const volumes = [{ name: 'data', mountPath: '/data' }]
    const { id, slug } = await makeProject(instance, people.owner.token, { localPath: source, volumes })
    const { id: liveId, status } = await scene.settled(await scene.deploy(id))
    expect(status).toBe('live')
    const volume = await db.selectFrom('volumes').select('id').where('projectId', '=', id).executeTakeFirstOrThrow()
    runtime.volumes.set(volume.id, await tarOf(saved))
    const policy = await send('POST /projects/:projectId/backup-policies', { params: { projectId: id }, body: { destinationId } })
    const policyId = policy.body.data.id as string
    const runId = await scene.start(policyId)
    while ((await scene.run(runId)).status !== 'succeeded') await pause(10)
    await send('POST /backup-runs/:runId/protect', { params: { runId } })
    runtime.volumes.set(volume.id, await tarOf(current))
    const other = await send('POST /projects/:projectId/backup-policies', { params: { projectId: id }, body: { destinationId } })
    const task = { name: 'tidy', schedule: '0 0 1 1 *', command: 'tidy' }
    const { body: made } = await send('POST /projects/:id/cron-jobs', { params: { id }, body: task })
    const cronJobId = made.data.id as string
    return { id, slug, volumeId: volume.id, policyIds: [policyId, other.body.data.id], cronJobId, runId, liveId }
  }

  const requested = ({ status, body }: Answer, subjectId: string | null = null): Requested => ({
    ...{ status, code: body?.code ?? null, error: body?.error ?? '', subjectId },
  })
  const itself = async (kind: OperationKind, { id: projectId }: Subject): Promise<Requested> => {
    const isDone = await runLeasedOperation({ projectId, environment: 'production', kind }, deps, async () => {})
    return { status: isDone ? 200 : 0, code: null, error: '', subjectId: null }
  }
  type Request = (subject: Subject, target?: RequestTarget) => Promise<Requested>
  const onProject =
    (at: `${string} /${string}`, body?: object): Request =>
    async ({ id }, target) =>
      requested(await send(at, { params: { id }, ...(body ? { body } : {}) }, target))
  const deployed = (answer: Answer) => requested(answer, answer.body?.data?.deploymentId ?? null)
  const performers: Record<OperationKind, Request> = {
    deploy: async ({ id }, target) => deployed(await send('POST /deployments/build/access', { body: { projectId: id } }, target)),
    redeploy: async ({ liveId: id }, target) =>
      deployed(await send('POST /deployments/:id/redeploy', { params: { id } }, target)),
    rollback: async ({ liveId: id }, target) =>
      deployed(await send('POST /deployments/:id/rollback', { params: { id } }, target)),
    enable: onProject('POST /projects/:id/enable'),
    disable: onProject('POST /projects/:id/disable'),
    restart: async ({ id }, target) => deployed(await send('POST /projects/:id/restart', { params: { id } }, target)),
    recover: (subject) => itself('recover', subject),
    wake: (subject) => itself('wake', subject),
    sleep: (subject) => itself('sleep', subject),
    change: onProject('PATCH /projects/:id', { name: 'Another name' }),
    async backup({ policyIds }, target) {
      // A policy has one run at a time: the next request is for the other one.
      policyIds.reverse()
      const policyId = policyIds[0] as string
      const answer = await send('POST /backup-policies/:policyId/run', { params: { policyId } }, target)
      return requested(answer, answer.body?.data?.runId ?? null)
    },
    async task({ id, cronJobId }, target) {
      const answer = await send('POST /projects/:id/cron-jobs/:cronJobId/run', { params: { id, cronJobId } }, target)
      return requested(answer, answer.body?.data?.id ?? null)
    },
    async restore({ runId }, target) {
      const { body } = await send('POST /backup-runs/:runId/restore/prepare', { params: { runId } }, target)
      const { restoreId, confirmationToken } = body.data
      const applied = { params: { restoreId }, body: { confirmationToken } }
      return requested(await send('POST /backup-restores/:restoreId/apply', applied, target), restoreId)
    },
    async move({ id }, target) {
      const transfer = newId('trf')
      const { recipient } = await newBundleKey()
      return requested(
        await send('POST /projects/:id/departure', { params: { id }, body: { transfer, recipient } }, target),
        transfer,
      )
    },
    delete: onProject('DELETE /projects/:id'),
  }

  /** The driver continues after the release, and the waiting request is answered. */
  async function gated(kind: OperationKind, phase: OperationPhase, gate: Gate, subject: Subject): Promise<UnderWay> {
    const held = hold(gate, subject)
    const answer = performers[kind](subject)
    await held.begun
    const row = await underWay(subject, kind, phase)
    return {
      row,
      async release() {
        held.release()
        await answer
      },
    }
  }
  async function byHand(kind: OperationKind, { id: projectId }: Subject): Promise<UnderWay> {
    const subjectId = newId('dep')
    const { operation } = await database.transaction(async (transaction) => {
      await lockProject(transaction, projectId)
      const begun = await beginOperation({ projectId, environment: 'production', kind, subjectId }, transaction, deps)
      await enterDiscarding(subjectId, transaction)
      return begun
    })
    return { row: operation, release: () => database.transaction((transaction) => endOperation(subjectId, transaction)) }
  }
  async function leased(kind: OperationKind, subject: Subject): Promise<UnderWay> {
    const going = Promise.withResolvers<void>()
    const work = runLeasedOperation({ projectId: subject.id, environment: 'production', kind }, deps, () => going.promise)
    const row = await underWay(subject, kind, 'running')
    return {
      row,
      async release() {
        going.resolve()
        await work
      },
    }
  }
  async function moving(phase: OperationPhase, subject: Subject): Promise<UnderWay> {
    const { subjectId } = await performers.move(subject)
    const id = subjectId as string
    const reach = async (state: string) => {
      while ((await departure(id)) !== state) await pause(10)
    }
    await reach('packed')
    if (phase === 'stopped') {
      await changeDeparture(id, 'ready')
      await reach('ready')
    }
    return { row: await underWay(subject, 'move', phase), release: async () => void (await changeDeparture(id, 'aborted')) }
  }
  const begin: OperationsScene['begin'] = async (kind, phase, subject) => {
    if (phase === 'discarding') return byHand(kind, subject)
    if (kind === 'deploy' || kind === 'redeploy') return gated(kind, phase, 'build', subject)
    if (kind === 'rollback' || kind === 'restart') return gated(kind, phase, 'start', subject)
    if (kind === 'enable') {
      await performers.disable(subject)
      return gated(kind, phase, 'start', subject)
    }
    if (kind === 'disable' || kind === 'delete') return gated(kind, phase, 'stop', subject)
    if (kind === 'task') return gated(kind, phase, 'task', subject)
    if (kind === 'backup') return gated(kind, phase, 'readVolume', subject)
    if (kind === 'restore') return gated(kind, phase, phase === 'stopped' ? 'writeVolume' : 'readVolume', subject)
    return kind === 'move' ? moving(phase, subject) : leased(kind, subject)
  }

  const idle = async () => {
    for (;;) {
      await instance.jobs.whenIdle()
      const resuming = db.selectFrom('jobs').select('id').where('kind', '=', 'projects.resume')
      if (!(await resuming.where('status', 'in', ['queued', 'running']).executeTakeFirst())) return
      await pause(20)
    }
  }
  return {
    ...scene,
    makeSubject,
    perform: (kind, subject, target) => performers[kind](subject, target),
    hold,
    begin,
    rows,
    async isJobRunning(kind) {
      const running = db.selectFrom('jobs').select('id').where('kind', '=', kind).where('status', '=', 'running')
      return (await running.executeTakeFirst()) !== undefined
    },
    async volume({ volumeId }) {
      const bytes = Buffer.from(runtime.volumes.get(volumeId) ?? [])
      if (bytes.equals(await tarOf(saved))) return 'saved'
      return bytes.equals(await tarOf(current)) ? 'current' : 'other'
    },
    async settle({ id }) {
      await idle()
      for (const { transfer, projectId, side } of (await send('GET /transfers')).body.data)
        if (projectId === id && side === 'departure') await changeDeparture(transfer, 'aborted')
      await idle()
    },
    send,
  }
}
