import { setTimeout as pause } from 'node:timers/promises'
import type { TransferExport, TransferImport, TransferPhase } from '@berth/contract'
import type { CloudTransferRow } from '../../../platform/db/tables/transfers.ts'
import { Failure } from '../../../platform/failure.ts'
import type { CoordinatorDeps } from '../deps.ts'
import { type RetryLimits, retryWhileUnreachable } from '../retry-unreachable.ts'
import { enterPhase, updateTransfer } from '../rows/transfer-store.ts'
import { copyFiles } from './copy-files.ts'
import type { Sides } from './sides.ts'

/** Context of every step of a transfer. */
export interface TransferContext {
  transfer: CloudTransferRow
  sides: Sides
  retryLimits: RetryLimits
  /** Whether no step of the transfer has been done yet. */
  isNew: boolean
  deps: CoordinatorDeps
  abort: AbortSignal
}

/** The source or target has failed, with its own message; the transfer is rolled back. */
export class SideFailed extends Error {
  override readonly name = 'SideFailed'
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/**
 * Runs the transfer up to the cutover. Then the target has checked everything and runs the project without a route, and the
 * source has stopped it. May be restarted at any line: the states of both sides show which steps are done.
 */
export async function prepare(context: TransferContext): Promise<void> {
  const { sides, abort, retryLimits } = context
  const { source, target } = sides
  await enter('packing', context)
  // A new transfer fails at once while the cloud is unreachable; a transfer that has begun waits for it.
  let targetSide = await (context.isNew
    ? target.openImport()
    : retryWhileUnreachable(() => target.openImport(), retryLimits, abort))
  if (targetSide.state === 'open') {
    await retryWhileUnreachable(() => source.startExport(targetSide.recipient), retryLimits, abort)
    const packed = await until(() => source.get(), ['packed', 'releasing', 'ready'], context)
    await enter('sending', context)
    await copy(packed, targetSide, context)
    await enter('staging', context)
    targetSide = await retryWhileUnreachable(() => target.change({ state: 'staged', signer: packed.signer }), retryLimits, abort)
  }
  targetSide = await until(() => target.get(), ['staged', 'landing', 'landed'], context)
  if (targetSide.state === 'staged') {
    await enter('releasing', context)
    await retryWhileUnreachable(() => source.change('ready'), retryLimits, abort)
    const ready = await until(() => source.get(), ['ready'], context)
    await enter('catching_up', context)
    await copy(ready, targetSide, context)
    await enter('landing', context)
    await retryWhileUnreachable(() => target.change({ state: 'landed' }), retryLimits, abort)
  }
  const landed = await until(
    () => target.get(),
    ['landed'],
    context,
    () => source.get(),
  )
  const sourceSide = await retryWhileUnreachable(() => source.get(), retryLimits, abort)
  const warnings = JSON.stringify([...(sourceSide.warnings ?? []), ...landed.warnings])
  await updateTransfer(context.deps.database.db, context.transfer.id, { warnings })
}

/** Enters the phase; rejects when the transfer was cancelled, so that no further step begins. */
export async function enter(phase: TransferPhase, { transfer, deps }: Pick<TransferContext, 'transfer' | 'deps'>): Promise<void> {
  if (transfer.phase === phase) return
  if (!(await enterPhase(deps.database.db, transfer.id, phase)))
    throw new Failure('conflict', { message: 'The transfer was cancelled' })
  transfer.phase = phase
}

async function copy(
  { files }: TransferExport,
  targetSide: TransferImport,
  { transfer, sides, retryLimits, deps, abort }: TransferContext,
): Promise<void> {
  const bytesTotal = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
  let bytesDone = 0
  let recordedAt = 0
  const { db } = deps.database
  await updateTransfer(db, transfer.id, { bytesDone, bytesTotal })
  const current = await retryWhileUnreachable(() => sides.target.get(), retryLimits, abort)
  await copyFiles(files, current.files.length > 0 ? current.files : targetSide.files, sides, retryLimits, abort, (sizeBytes) => {
    bytesDone += sizeBytes
    if (Date.now() - recordedAt < 500) return
    recordedAt = Date.now()
    void updateTransfer(db, transfer.id, { bytesDone }).catch(() => undefined)
  })
  await updateTransfer(db, transfer.id, { bytesDone })
}

/** Polls until the side reaches the wanted state; rejects when it has failed or was cancelled. */
async function until<Side extends TransferExport | TransferImport>(
  get: () => Promise<Side>,
  expectedStates: readonly Side['state'][],
  { retryLimits, abort }: TransferContext,
  keepOtherSide?: () => Promise<unknown>,
): Promise<Side> {
  for (let polls = 1; ; polls += 1) {
    // The other side is polled too: it cancels itself if it gets no request for long.
    if (keepOtherSide && polls % 50 === 0) await retryWhileUnreachable(keepOtherSide, retryLimits, abort)
    const side = await retryWhileUnreachable(get, retryLimits, abort)
    if (expectedStates.includes(side.state)) return side
    if (side.state === 'failed')
      throw new SideFailed(side.error?.code ?? 'conflict', side.error?.message ?? 'One side failed without a message')
    if (side.state === 'aborted') throw new Failure('conflict', { message: 'The transfer was cancelled' })
    await pause(retryLimits.pollMs, undefined, { signal: abort })
  }
}
