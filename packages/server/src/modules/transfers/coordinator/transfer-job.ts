import { cloudTransferJson } from '../../../platform/db/json-columns/transfers.ts'
import type { Db } from '../../../platform/db/schema.ts'
import type { CloudTransferRow } from '../../../platform/db/tables/transfers.ts'
import { diskFullFailure } from '../../../platform/disk-full.ts'
import { errorMessage } from '../../../platform/error-message.ts'
import { Failure } from '../../../platform/failure.ts'
import { job, sharedKind } from '../../../platform/jobs/declare.ts'
import { accountOf, deleteCloudProject, saveCloudProject } from '../../cloud/index.ts'
import { findAnyProject } from '../../projects/index.ts'
import type { CoordinatorDeps } from '../deps.ts'
import { findTransfer, hasEnded, updateTransfer } from '../rows/transfer-store.ts'
import { watchCancelled } from './cancel-transfer.ts'
import { cutOver, finishCutover } from './cutover.ts'
import { localSource, localTarget } from './local-sides.ts'
import { prepare, SideFailed, type TransferContext } from './prepare.ts'
import { remoteSource, remoteTarget } from './remote-sides.ts'
import { rollBack } from './roll-back.ts'
import type { Sides } from './sides.ts'

export const transferKind = sharedKind<{ id: string }>('cloud.transfer')

const hours = 3_600_000
const rollbackAttempts = 20

/** Runs a transfer to its end, or rolls it back. May be killed at any line and run again. */
export const transferJob = (deps: CoordinatorDeps) =>
  job<{ id: string }, unknown>(transferKind, {
    deadlineMs: 24 * hours,
    concurrency: 4,
    // Retried without limit: a decision of the cloud must be completed, however long it is unreachable.
    maxAttempts: Number.MAX_SAFE_INTEGER,
    backoff: (attempt) => Math.min(250 * 2 ** Math.min(attempt, 7), 15_000),
    async run({ id }, _, abort, { attempt }) {
      const transfer = await findTransfer(deps.database.db, id)
      if (!transfer || hasEnded(transfer)) return
      await runTransfer(transfer, deps, abort, attempt)
    },
  })

async function runTransfer(
  transfer: CloudTransferRow,
  deps: CoordinatorDeps,
  abort: AbortSignal,
  attempt: number,
): Promise<void> {
  const isDecided = transfer.phase === 'committing' || transfer.phase === 'settling'
  const sides = await sidesOf(transfer, deps)
  if (!sides) {
    if (isDecided)
      throw new Error('the cloud link changed during the transfer. Link the same cloud account again to finish the transfer.')
    await rollBackHere(transfer, deps)
    await recordFailure(transfer, { code: 'cloud_not_linked', message: 'The cloud link was removed during the transfer' }, deps)
    return
  }
  const isNew = attempt === 1 && transfer.phase === 'packing'
  const rollingBack: TransferContext = { transfer, sides, retryLimits: deps.retryLimits, isNew, deps, abort }
  if (transfer.phase === 'undoing') return completeRollback(rollingBack, attempt)
  using cancelled = watchCancelled(transfer.id, deps)
  const context: TransferContext = { ...rollingBack, abort: AbortSignal.any([abort, cancelled.signal]) }
  try {
    if (!isDecided) await prepare(context)
    if (transfer.phase !== 'settling') await cutOver(context)
  } catch (error) {
    abort.throwIfAborted()
    // After the cloud was asked to commit, only its own decision can roll the transfer back.
    const mayRollBack = transfer.phase !== 'committing' && transfer.phase !== 'settling'
    if (!mayRollBack && !(error instanceof SideFailed)) throw error
    await beginRollback(transfer, error, deps)
    return completeRollback(rollingBack, 1)
  }
  await finishCutover(context)
  await complete(transfer, deps)
}

/** Undefined: the link was removed, or belongs to another account. */
async function sidesOf(transfer: CloudTransferRow, deps: CoordinatorDeps): Promise<Sides | undefined> {
  const link = await deps.cloud.links.of(transfer.organizationId)
  if (!link || accountOf(link.row) !== transfer.cloud) return undefined
  const remote = { api: deps.cloud.api, address: link.address }
  return transfer.direction === 'to_cloud'
    ? { source: localSource(transfer, deps), target: remoteTarget(transfer, remote) }
    : { source: remoteSource(transfer, remote), target: localTarget(transfer, deps) }
}

/** Rolls back the side on this instance, which needs no link. */
async function rollBackHere(transfer: CloudTransferRow, deps: CoordinatorDeps): Promise<void> {
  const called =
    transfer.direction === 'to_cloud'
      ? localSource(transfer, deps).change('aborted')
      : localTarget(transfer, deps).change({ state: 'aborted' })
  await called.catch((error: unknown) => {
    // The side has not begun the transfer, or has already ended it.
    if (!(error instanceof Failure)) throw error
  })
}

async function beginRollback(transfer: CloudTransferRow, error: unknown, deps: CoordinatorDeps): Promise<void> {
  const current = await findTransfer(deps.database.db, transfer.id)
  // The transfer was cancelled: the reason is recorded already.
  if (current?.phase === 'undoing') {
    Object.assign(transfer, current)
    return
  }
  const failure = error instanceof Failure || error instanceof SideFailed ? error : diskFullFailure(error)
  if (!failure) deps.log.error({ err: error, transfer: transfer.id }, 'transfers: unexpected error')
  const errorCode = failure?.code ?? 'internal'
  const message = failure?.message ?? 'Internal error. The log of the instance has the details.'
  deps.log.warn(
    { transfer: transfer.id, phase: transfer.phase, reason: errorMessage(error) },
    'transfers: transfer failed, rolling it back',
  )
  Object.assign(transfer, { phase: 'undoing', errorCode, errorMessage: message })
  await updateTransfer(deps.database.db, transfer.id, { phase: 'undoing', errorCode, errorMessage: message })
}

async function completeRollback(context: TransferContext, attempt: number): Promise<void> {
  const { transfer, deps } = context
  if (!(await rollBack(context)) && attempt < rollbackAttempts)
    throw new Error('the cloud could not be notified of a cancelled transfer yet')
  await recordFailure(transfer, { code: transfer.errorCode ?? 'internal', message: transfer.errorMessage ?? '' }, deps)
}

const recordFailure = (
  { id }: CloudTransferRow,
  { code, message }: { code: string; message: string },
  { database, clock }: CoordinatorDeps,
): Promise<unknown> =>
  updateTransfer(database.db, id, { phase: 'failed', errorCode: code, errorMessage: message, finishedAt: clock.now().getTime() })

/** Records on which instance the project is now. For a project in the cloud, also the local folder that it came from. */
async function recordLocation(
  { direction, projectId, organizationId, cloud }: CloudTransferRow,
  db: Db,
  now: number,
): Promise<void> {
  if (direction === 'to_self_hosted') {
    await deleteCloudProject(db, projectId)
    return
  }
  const localPath = (await findAnyProject(db, projectId))?.localPath ?? null
  await saveCloudProject({ projectId, organizationId, cloud, localPath, movedAt: now, missingSince: null }, db)
}

async function complete(transfer: CloudTransferRow, { database, clock }: CoordinatorDeps): Promise<void> {
  const { id, organizationId, projectId, projectName, direction } = transfer
  const row = await findTransfer(database.db, id)
  const warnings = row ? cloudTransferJson.warnings(row) : []
  const location = direction === 'to_cloud' ? 'the cloud' : 'this instance'
  await database.transaction(async ({ db, announce }) => {
    await updateTransfer(db, id, { phase: 'done', finishedAt: clock.now().getTime() })
    await recordLocation(transfer, db, clock.now().getTime())
    await announce('transfer.completed', {
      organizationId,
      projectId,
      subject: `${projectName} was transferred to ${direction === 'to_cloud' ? 'the cloud' : 'its own instance'}`,
      text: [`${projectName} now runs in ${location}. The source copy is stopped and kept for 7 days.`, ...warnings].join('\n'),
      data: { transfer: id, direction, warnings },
    })
  })
}
