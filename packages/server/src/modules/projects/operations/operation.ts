import { setTimeout as pause } from 'node:timers/promises'
import { newId } from '../../../platform/db/ids.ts'
import type { Db } from '../../../platform/db/schema.ts'
import type { ProjectOperationRow } from '../../../platform/db/tables/projects.ts'
import { fail } from '../../../platform/failure.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { type ProjectSignal, projectsTopic } from '../project-signal.ts'
import { filterByRule, type RequestedOperation, shareQueue } from './conflict-table.ts'
import { deleteOperation, findBySubject, insertOperation, listOperations, setPhase, stoppedPhases } from './operation-store.ts'
import { operationsText } from './operation-text.ts'
import { resumeKind } from './resume-kind.ts'

/** Locks the project: until the transaction ends, no other one changes the project, deletes it, or begins an operation on it. */
export const lockProject = ({ lock }: Pick<TransactionContext, 'lock'>, projectId: string): Promise<void> =>
  lock(`project:${projectId}`)

export interface BeginOperation extends RequestedOperation {
  projectId: string
  /** The deployment, run, restore or transfer that is the operation, and ends it. */
  subjectId?: string
  /** Lease end of an operation that a process holds; absent: it is durable, and ends with its subject. */
  heldUntil?: number
}

type ClockDeps = Pick<ProjectsDeps, 'clock'>

/** Called under `lockProject`. Fails with 409 `work_in_progress` if the table refuses the operation; else returns the running ones. */
export async function refuseOperation(
  requested: RequestedOperation & { projectId: string },
  { db }: Pick<TransactionContext, 'db'>,
  deps: ClockDeps,
): Promise<ProjectOperationRow[]> {
  const running = await listOperations(db, requested.projectId, nowOf(deps))
  const refusedBy = filterByRule(requested, running, 'refuse')
  if (refusedBy.length > 0) fail('work_in_progress', { message: operationsText(refusedBy) })
  return running
}

export interface StartedOperation {
  operation: ProjectOperationRow
  /** True: the caller must not enqueue its job. `ProjectPart.resume` does that when the other operations have ended. */
  isWaiting: boolean
}

/** Called under `lockProject`. Fails like `refuseOperation`; if the table says `wait`, the operation starts in the phase `waiting`. */
export async function beginOperation(
  requested: BeginOperation,
  { db }: Pick<TransactionContext, 'db'>,
  deps: ClockDeps,
): Promise<StartedOperation> {
  const running = await refuseOperation(requested, { db }, deps)
  // A transfer starts at once, and waits before it stops the project.
  const awaited = requested.kind === 'move' ? [] : filterByRule(requested, running, 'wait').filter(isDurable)
  const operation: ProjectOperationRow = {
    id: newId('opr'),
    projectId: requested.projectId,
    environment: requested.environment,
    kind: requested.kind,
    phase: awaited.length > 0 ? 'waiting' : 'running',
    subjectId: requested.subjectId ?? null,
    startedAt: nowOf(deps),
    heldUntil: requested.heldUntil ?? null,
  }
  await insertOperation(db, operation)
  return { operation, isWaiting: awaited.some((row) => !shareQueue(row, operation)) }
}

/** An operation without a lease. Operations with a lease are short: only the step that stops the project waits for them. */
const isDurable = ({ heldUntil }: ProjectOperationRow): boolean => heldUntil === null

/** Operations of other queues that must end before this one continues. */
async function listAwaited(operation: ProjectOperationRow, db: Db, deps: ClockDeps): Promise<ProjectOperationRow[]> {
  const { id, projectId, kind, environment } = operation
  const others = (await listOperations(db, projectId, nowOf(deps))).filter((row) => row.id !== id && row.phase !== 'waiting')
  // The operation was already accepted: it waits for an operation that would refuse it now.
  const awaited = filterByRule({ kind, environment, isAutomatic: true }, others, 'wait')
  return awaited.filter((row) => !shareQueue(row, operation))
}

/** Called under `lockProject`. Starts a waiting operation; returns false if it must keep waiting. */
export async function startIfReady(subjectId: string, { db }: Pick<TransactionContext, 'db'>, deps: ClockDeps): Promise<boolean> {
  const row = await findBySubject(db, subjectId)
  if (row?.phase !== 'waiting') return true
  if ((await listAwaited(row, db, deps)).some(isDurable)) return false
  await setPhase(db, row.id, 'running')
  return true
}

/** Called under `lockProject`. After this commit no instance of the project is started. False: the operation has ended. */
export async function enterStopped(subjectId: string, { db }: Pick<TransactionContext, 'db'>): Promise<boolean> {
  const row = await findBySubject(db, subjectId)
  if (row) await setPhase(db, row.id, 'stopped')
  return row !== undefined
}

/** Called when the deployment has ended; its operation ends when the instances that it started are stopped. */
export async function enterDiscarding(subjectId: string, { db }: Pick<TransactionContext, 'db'>): Promise<void> {
  const row = await findBySubject(db, subjectId)
  if (row) await setPhase(db, row.id, 'discarding')
}

/** Called under `lockProject` when a running restore is cancelled. Its operation ends when the previous data is restored. */
export async function enterUndoing(subjectId: string, { db }: Pick<TransactionContext, 'db'>): Promise<void> {
  const row = await findBySubject(db, subjectId)
  if (row) await setPhase(db, row.id, row.phase === 'stopped' ? 'undoing' : 'cancelling')
}

const pollIntervalMs = 250

/** Called after `enterStopped`: resolves when every earlier operation has ended. */
export async function waitUntilAlone(subjectId: string, { database, clock }: WaitDeps, abort: AbortSignal): Promise<void> {
  for (;;) {
    const row = await findBySubject(database.db, subjectId)
    if (!row || (await listAwaited(row, database.db, { clock })).length === 0) return
    await pause(pollIntervalMs, undefined, { signal: abort })
  }
}

/** Resolves when the project has no operation with a lease, or after `maxMs`: a start may take longer. */
export async function waitUntilNoLeases(projectId: string, { database, clock }: WaitDeps, maxMs: number): Promise<void> {
  for (const deadline = Date.now() + maxMs; Date.now() < deadline; await pause(pollIntervalMs)) {
    const running = await listOperations(database.db, projectId, nowOf({ clock }))
    if (running.every(isDurable)) return
  }
}

type WaitDeps = Pick<ProjectsDeps, 'clock' | 'database'>

/** Ends the operation with its subject. After the commit, waiting operations continue, and the edge serves the project again. */
export async function endOperation(
  subjectId: string,
  transaction: Pick<TransactionContext, 'db' | 'enqueue' | 'lock' | 'signal'>,
): Promise<void> {
  const { db } = transaction
  const row = await findBySubject(db, subjectId)
  if (!row) return
  // A concurrent operation either sees this one end, or is already visible here as waiting.
  await lockProject(transaction, row.projectId)
  await deleteOperation(db, row.id)
  if (stoppedPhases.includes(row.phase)) transaction.signal(projectsTopic, { projectId: row.projectId } satisfies ProjectSignal)
  const others = await listOperations(db, row.projectId, 0)
  if (others.some((other) => other.phase === 'waiting' && !shareQueue(other, row)))
    await transaction.enqueue(resumeKind.of(row), { projectId: row.projectId })
}
