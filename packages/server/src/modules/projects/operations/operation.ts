import { setTimeout as pause } from 'node:timers/promises'
import { newId } from '../../../platform/db/ids.ts'
import type { Db } from '../../../platform/db/schema.ts'
import type { ProjectOperationRow } from '../../../platform/db/tables/projects.ts'
import { fail } from '../../../platform/failure.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { type ProjectSignal, projectsTopic } from '../project-signal.ts'
import { type RequestedOperation, shareQueue, thatMeet } from './meetings.ts'
import { deleteOperation, findBySubject, insertOperation, listOperations, pausePhases, setPhase } from './operation-store.ts'
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

type Clocked = Pick<ProjectsDeps, 'clock'>

/** Called under `lockProject`. 409 `work_in_progress` where the table refuses the operation; otherwise returns those under way. */
export async function refuseOperation(
  requested: RequestedOperation & { projectId: string },
  { db }: Pick<TransactionContext, 'db'>,
  deps: Clocked,
): Promise<ProjectOperationRow[]> {
  const underWay = await listOperations(db, requested.projectId, nowOf(deps))
  const refusing = thatMeet(requested, underWay, 'refuse')
  if (refusing.length > 0) fail('work_in_progress', { message: operationsText(refusing) })
  return underWay
}

export interface BegunOperation {
  operation: ProjectOperationRow
  /** The caller must not enqueue its job: `ProjectPart.resume` does that when the awaited operations have ended. */
  isHeld: boolean
}

/** Called under `lockProject`. Refuses as `refuseOperation` does; where the table says `wait`, the operation begins in the phase `waiting`. */
export async function beginOperation(
  requested: BeginOperation,
  { db }: Pick<TransactionContext, 'db'>,
  deps: Clocked,
): Promise<BegunOperation> {
  const underWay = await refuseOperation(requested, { db }, deps)
  // A move begins at once, and waits before it stops the project.
  const awaited = requested.kind === 'move' ? [] : thatMeet(requested, underWay, 'wait').filter(isDurable)
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
  return { operation, isHeld: awaited.some((row) => !shareQueue(row, operation)) }
}

/** Operations that a process holds are short: they are waited for at the moment that the project is stopped. */
const isDurable = ({ heldUntil }: ProjectOperationRow): boolean => heldUntil === null

/** Operations that have to end before this one goes on, besides those of its own queue. */
async function awaitedBy(operation: ProjectOperationRow, db: Db, deps: Clocked): Promise<ProjectOperationRow[]> {
  const { id, projectId, kind, environment } = operation
  const others = (await listOperations(db, projectId, nowOf(deps))).filter((row) => row.id !== id && row.phase !== 'waiting')
  // It has been accepted: an operation that would refuse it now is waited for.
  const awaited = thatMeet({ kind, environment, isAutomatic: true }, others, 'wait')
  return awaited.filter((row) => !shareQueue(row, operation))
}

/** Called under `lockProject`. An operation that waits begins; false where it has to wait on. */
export async function proceed(subjectId: string, { db }: Pick<TransactionContext, 'db'>, deps: Clocked): Promise<boolean> {
  const row = await findBySubject(db, subjectId)
  if (row?.phase !== 'waiting') return true
  if ((await awaitedBy(row, db, deps)).some(isDurable)) return false
  await setPhase(db, row.id, 'running')
  return true
}

/** Called under `lockProject`. From this commit on nothing of the project is started; false where the operation has ended. */
export async function enterStopped(subjectId: string, { db }: Pick<TransactionContext, 'db'>): Promise<boolean> {
  const row = await findBySubject(db, subjectId)
  if (row) await setPhase(db, row.id, 'stopped')
  return row !== undefined
}

/** The deployment has ended; its operation ends when the instances that it started are stopped. */
export async function enterDiscarding(subjectId: string, { db }: Pick<TransactionContext, 'db'>): Promise<void> {
  const row = await findBySubject(db, subjectId)
  if (row) await setPhase(db, row.id, 'discarding')
}

/** Called under `lockProject`. A restore that had begun was cancelled; it ends as an operation when the previous data is back. */
export async function enterUndoing(subjectId: string, { db }: Pick<TransactionContext, 'db'>): Promise<void> {
  const row = await findBySubject(db, subjectId)
  if (row) await setPhase(db, row.id, row.phase === 'stopped' ? 'undoing' : 'cancelling')
}

const pollMs = 250

/** Called after `enterStopped`: resolves when every operation that was under way before has ended. */
export async function untilAlone(subjectId: string, { database, clock }: Waiting, abort: AbortSignal): Promise<void> {
  for (;;) {
    const row = await findBySubject(database.db, subjectId)
    if (!row || (await awaitedBy(row, database.db, { clock })).length === 0) return
    await pause(pollMs, undefined, { signal: abort })
  }
}

/** Resolves when no process holds an operation of the project any more, or after `maxMs`: a start may time out. */
export async function untilNoneHeld(projectId: string, { database, clock }: Waiting, maxMs: number): Promise<void> {
  for (const giveUpAt = Date.now() + maxMs; Date.now() < giveUpAt; await pause(pollMs)) {
    const underWay = await listOperations(database.db, projectId, nowOf({ clock }))
    if (underWay.every(isDurable)) return
  }
}

type Waiting = Pick<ProjectsDeps, 'clock' | 'database'>

/** Ends the operation with its subject. After the commit, operations that waited for it go on, and the edge serves the project again. */
export async function endOperation(
  subjectId: string,
  bound: Pick<TransactionContext, 'db' | 'enqueue' | 'lock' | 'signal'>,
): Promise<void> {
  const { db } = bound
  const row = await findBySubject(db, subjectId)
  if (!row) return
  // A concurrent operation either sees this one end, or is already visible here as waiting.
  await lockProject(bound, row.projectId)
  await deleteOperation(db, row.id)
  if (pausePhases.includes(row.phase)) bound.signal(projectsTopic, { projectId: row.projectId } satisfies ProjectSignal)
  const others = await listOperations(db, row.projectId, 0)
  if (others.some((other) => other.phase === 'waiting' && !shareQueue(other, row)))
    await bound.enqueue(resumeKind.of(row), { projectId: row.projectId })
}
