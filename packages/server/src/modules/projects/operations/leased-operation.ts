import type { OperationKind, ProjectOperationRow } from '../../../platform/db/tables/projects.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { filterByRule } from './conflict-table.ts'
import { beginOperation, lockProject } from './operation.ts'
import { deleteOperation, listOperations, renewLease } from './operation-store.ts'

type LeaseDeps = Pick<ProjectsDeps, 'clock' | 'database' | 'log'>

export const leaseMs = 60_000

/**
 * Runs short work that no client requested (a restart, a wake-up, a sleep) as an operation that this process holds by a lease.
 * False where another operation conflicts: nothing was done, and that operation leaves the project in its correct state.
 */
export async function runLeasedOperation(
  { projectId, environment, kind }: { projectId: string; environment: string | null; kind: OperationKind },
  deps: LeaseDeps,
  work: () => Promise<void>,
): Promise<boolean> {
  const operation = await deps.database.transaction(async (transaction): Promise<ProjectOperationRow | undefined> => {
    await lockProject(transaction, projectId)
    const running = await listOperations(transaction.db, projectId, nowOf(deps))
    if (filterByRule({ kind, environment }, running, 'beside').length < running.length) return undefined
    const heldUntil = nowOf(deps) + leaseMs
    return (await beginOperation({ projectId, environment, kind, heldUntil }, transaction, deps)).operation
  })
  if (!operation) return false
  await runWithLease(operation, deps, work)
  return true
}

/** Renews the lease of an operation until the work has ended, and ends the operation with it. */
export async function runWithLease(
  { id, projectId }: ProjectOperationRow,
  deps: LeaseDeps,
  work: () => Promise<void>,
): Promise<void> {
  const { db } = deps.database
  const warn = (err: unknown) => deps.log.warn({ err, projectId, operationId: id }, 'projects: operation lease not renewed')
  const heartbeat = setInterval(() => void renewLease(db, id, nowOf(deps) + leaseMs).catch(warn), leaseMs / 3)
  heartbeat.unref()
  try {
    await work()
  } finally {
    clearInterval(heartbeat)
    await deleteOperation(db, id)
  }
}
