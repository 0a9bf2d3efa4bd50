import type { Db } from '../../../platform/db/schema.ts'
import type { CloudTransferRow } from '../../../platform/db/tables/cloud.ts'
import { diskFullFailure } from '../../../platform/disk-full.ts'
import { errorMessage } from '../../../platform/error-message.ts'
import { Failure } from '../../../platform/failure.ts'
import { job, sharedKind } from '../../../platform/jobs/declare.ts'
import { findAnyProject } from '../../projects/index.ts'
import type { CloudDeps } from '../deps.ts'
import type { Links } from '../links.ts'
import { deleteMoved, saveMoved } from '../moved-store.ts'
import { watchCallingOff } from './call-off.ts'
import { cloudOf } from './cloud-of.ts'
import { commit, settle } from './commit.ts'
import { prepare, SideFailed, type TransferContext } from './drive.ts'
import { localArrival, localDeparture } from './local-sides.ts'
import { remoteArrival, remoteDeparture } from './remote-sides.ts'
import type { Sides } from './sides.ts'
import { findTransfer, isOver, updateTransfer } from './transfer-store.ts'
import { undo } from './undo.ts'

export const transferKind = sharedKind<{ id: string }>('cloud.transfer')

const hours = 3_600_000
const undoAttempts = 20

/** Drives a move to its end, or undoes it. May be killed at any line and run again. */
export const transferJob = (deps: CloudDeps, links: Links) =>
  job<{ id: string }, unknown>(transferKind, {
    deadlineMs: 24 * hours,
    concurrency: 4,
    // Retried without limit: a decision of the cloud must be completed, however long it is unreachable.
    maxAttempts: Number.MAX_SAFE_INTEGER,
    backoff: (attempt) => Math.min(250 * 2 ** Math.min(attempt, 7), 15_000),
    async run({ id }, _, abort, { attempt }) {
      const transfer = await findTransfer(deps.database.db, id)
      if (!transfer || isOver(transfer)) return
      await drive(transfer, deps, links, abort, attempt)
    },
  })

async function drive(
  transfer: CloudTransferRow,
  deps: CloudDeps,
  links: Links,
  abort: AbortSignal,
  attempt: number,
): Promise<void> {
  const isDecided = transfer.phase === 'committing' || transfer.phase === 'settling'
  const sides = await sidesOf(transfer, deps, links)
  if (!sides) {
    if (isDecided)
      throw new Error('the cloud link changed during the transfer. Link the same cloud account again to finish the transfer.')
    await undoHere(transfer, deps)
    await recordFailure(transfer, { code: 'cloud_not_linked', message: 'The cloud link was removed during the transfer' }, deps)
    return
  }
  const isNew = attempt === 1 && transfer.phase === 'packing'
  const undoing: TransferContext = { transfer, sides, retryLimits: deps.retryLimits, isNew, deps, abort }
  if (transfer.phase === 'undoing') return takeBack(undoing, attempt)
  using off = watchCallingOff(transfer.id, deps)
  const context: TransferContext = { ...undoing, abort: AbortSignal.any([abort, off.signal]) }
  try {
    if (!isDecided) await prepare(context)
    if (transfer.phase !== 'settling') await commit(context)
  } catch (error) {
    abort.throwIfAborted()
    // After the cloud was asked to commit, only its own decision can undo the move.
    const mayTurn = transfer.phase !== 'committing' && transfer.phase !== 'settling'
    if (!mayTurn && !(error instanceof SideFailed)) throw error
    await turnAround(transfer, error, deps)
    return takeBack(undoing, 1)
  }
  await settle(context)
  await complete(transfer, deps)
}

/** Undefined: the link was removed, or belongs to another account. */
async function sidesOf(transfer: CloudTransferRow, deps: CloudDeps, links: Links): Promise<Sides | undefined> {
  const link = await links.of(transfer.organizationId)
  if (!link || cloudOf(link.row) !== transfer.cloud) return undefined
  const { ends } = deps.transferPorts
  if (!ends) throw new Error('this instance runs no projects and cannot transfer any')
  const remote = { api: deps.api, address: link.address }
  return transfer.direction === 'to_cloud'
    ? { departure: localDeparture(transfer, ends, deps), arrival: remoteArrival(transfer, remote) }
    : { departure: remoteDeparture(transfer, remote), arrival: localArrival(transfer, ends) }
}

/** Undoes the side on this instance, which needs no link. */
async function undoHere(transfer: CloudTransferRow, deps: CloudDeps): Promise<void> {
  const { ends } = deps.transferPorts
  if (!ends) return
  const isLeaving = transfer.direction === 'to_cloud'
  const called = isLeaving
    ? localDeparture(transfer, ends, deps).change('aborted')
    : localArrival(transfer, ends).change({ state: 'aborted' })
  await called.catch((error: unknown) => {
    // The side was never begun, or has ended already.
    if (!(error instanceof Failure)) throw error
  })
}

async function turnAround(transfer: CloudTransferRow, error: unknown, deps: CloudDeps): Promise<void> {
  const current = await findTransfer(deps.database.db, transfer.id)
  // The move was cancelled: the reason is recorded already.
  if (current?.phase === 'undoing') return void Object.assign(transfer, current)
  const said = error instanceof Failure || error instanceof SideFailed ? error : diskFullFailure(error)
  if (!said) deps.log.error({ err: error, transfer: transfer.id }, 'transfers: unexpected error')
  const errorCode = said?.code ?? 'internal'
  const message = said?.message ?? 'Internal error. The log of the instance has the details.'
  deps.log.warn({ transfer: transfer.id, phase: transfer.phase, why: errorMessage(error) }, 'transfers: rolling back')
  Object.assign(transfer, { phase: 'undoing', errorCode, errorMessage: message })
  await updateTransfer(deps.database.db, transfer.id, { phase: 'undoing', errorCode, errorMessage: message })
}

async function takeBack(context: TransferContext, attempt: number): Promise<void> {
  const { transfer, deps } = context
  if (!(await undo(context)) && attempt < undoAttempts)
    throw new Error('the cloud could not be notified of a cancelled transfer yet')
  await recordFailure(transfer, { code: transfer.errorCode ?? 'internal', message: transfer.errorMessage ?? '' }, deps)
}

const recordFailure = (
  { id }: CloudTransferRow,
  { code, message }: { code: string; message: string },
  { database, clock }: CloudDeps,
): Promise<unknown> =>
  updateTransfer(database.db, id, { phase: 'failed', errorCode: code, errorMessage: message, finishedAt: clock.now().getTime() })

/** Records where the project lives now, and its original folder. */
async function noteMoved({ direction, projectId, organizationId, cloud }: CloudTransferRow, db: Db, now: number): Promise<void> {
  if (direction === 'to_self_hosted') return void (await deleteMoved(db, projectId))
  const localPath = (await findAnyProject(db, projectId))?.localPath ?? null
  await saveMoved({ projectId, organizationId, cloud, localPath, movedAt: now, missingSince: null }, db)
}

async function complete(transfer: CloudTransferRow, { database, clock }: CloudDeps): Promise<void> {
  const { id, organizationId, projectId, projectName, direction } = transfer
  const warnings = JSON.parse((await findTransfer(database.db, id))?.warnings ?? '[]') as string[]
  const place = direction === 'to_cloud' ? 'the cloud' : 'this instance'
  await database.transaction(async ({ db, announce }) => {
    await updateTransfer(db, id, { phase: 'done', finishedAt: clock.now().getTime() })
    await noteMoved(transfer, db, clock.now().getTime())
    await announce('transfer.completed', {
      organizationId,
      projectId,
      subject: `${projectName} was transferred to ${direction === 'to_cloud' ? 'the cloud' : 'its own instance'}`,
      text: [`${projectName} now runs in ${place}. The source copy is stopped and kept for 7 days.`, ...warnings].join('\n'),
      data: { transfer: id, direction, warnings },
    })
  })
}
