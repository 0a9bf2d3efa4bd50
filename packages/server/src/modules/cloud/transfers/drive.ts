import { setTimeout as pause } from 'node:timers/promises'
import type { Arrival, Departure, TransferPhase } from '@berth/contract'
import type { CloudTransferRow } from '../../../platform/db/tables/cloud.ts'
import { Failure } from '../../../platform/failure.ts'
import type { CloudDeps } from '../deps.ts'
import { carryFiles } from './carry-files.ts'
import { type RetryLimits, retryWhileUnreachable } from './retry-unreachable.ts'
import type { Sides } from './sides.ts'
import { enterPhase, updateTransfer } from './transfer-store.ts'

/** Context of every step of a move. */
export interface TransferContext {
  transfer: CloudTransferRow
  sides: Sides
  retryLimits: RetryLimits
  /** No step of the move has been done yet. */
  isNew: boolean
  deps: CloudDeps
  abort: AbortSignal
}

/** The source or target has failed, with its own message; the move is undone. */
export class SideFailed extends Error {
  override readonly name = 'SideFailed'
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/**
 * Runs the move up to the cutover: the target has and has checked everything and runs the project without a route, while the
 * source has stopped. May be restarted at any line: the states of both sides show which steps are done.
 */
export async function prepare(context: TransferContext): Promise<void> {
  const { sides, abort, retryLimits } = context
  const { departure, arrival } = sides
  await enter('packing', context)
  // A new move fails at once while the cloud is unreachable; a move that has begun waits for it.
  let there = await (context.isNew ? arrival.open() : retryWhileUnreachable(() => arrival.open(), retryLimits, abort))
  if (there.state === 'open') {
    await retryWhileUnreachable(() => departure.start(there.recipient), retryLimits, abort)
    const packed = await until(() => departure.look(), ['packed', 'releasing', 'ready'], context)
    await enter('sending', context)
    await carry(packed, there, context)
    await enter('staging', context)
    there = await retryWhileUnreachable(() => arrival.change({ state: 'staged', signer: packed.signer }), retryLimits, abort)
  }
  there = await until(() => arrival.look(), ['staged', 'landing', 'landed'], context)
  if (there.state === 'staged') {
    await enter('releasing', context)
    await retryWhileUnreachable(() => departure.change('ready'), retryLimits, abort)
    const ready = await until(() => departure.look(), ['ready'], context)
    await enter('catching_up', context)
    await carry(ready, there, context)
    await enter('landing', context)
    await retryWhileUnreachable(() => arrival.change({ state: 'landed' }), retryLimits, abort)
  }
  const landed = await until(
    () => arrival.look(),
    ['landed'],
    context,
    () => departure.look(),
  )
  const left = await retryWhileUnreachable(() => departure.look(), retryLimits, abort)
  const warnings = JSON.stringify([...(left.warnings ?? []), ...landed.warnings])
  await updateTransfer(context.deps.database.db, context.transfer.id, { warnings })
}

/** Enters the phase; rejects when the move was cancelled, so that no further step begins. */
export async function enter(phase: TransferPhase, { transfer, deps }: Pick<TransferContext, 'transfer' | 'deps'>): Promise<void> {
  if (transfer.phase === phase) return
  if (!(await enterPhase(deps.database.db, transfer.id, phase)))
    throw new Failure('conflict', { words: 'The transfer was cancelled' })
  transfer.phase = phase
}

async function carry(
  { files }: Departure,
  there: Arrival,
  { transfer, sides, retryLimits, deps, abort }: TransferContext,
): Promise<void> {
  const bytesTotal = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
  let bytesDone = 0
  let saidAt = 0
  const { db } = deps.database
  await updateTransfer(db, transfer.id, { bytesDone, bytesTotal })
  const current = await retryWhileUnreachable(() => sides.arrival.look(), retryLimits, abort)
  await carryFiles(files, current.files.length > 0 ? current.files : there.files, sides, retryLimits, abort, (sizeBytes) => {
    bytesDone += sizeBytes
    if (Date.now() - saidAt < 500) return
    saidAt = Date.now()
    void updateTransfer(db, transfer.id, { bytesDone }).catch(() => undefined)
  })
  await updateTransfer(db, transfer.id, { bytesDone })
}

/** Polls until the side reaches the wanted state; rejects when it has failed or was cancelled. */
async function until<Side extends Departure | Arrival>(
  look: () => Promise<Side>,
  wanted: readonly Side['state'][],
  { retryLimits, abort }: TransferContext,
  alsoLook?: () => Promise<unknown>,
): Promise<Side> {
  for (let looks = 1; ; looks += 1) {
    // A side that is not polled for long cancels itself.
    if (alsoLook && looks % 50 === 0) await retryWhileUnreachable(alsoLook, retryLimits, abort)
    const side = await retryWhileUnreachable(look, retryLimits, abort)
    if (wanted.includes(side.state)) return side
    if (side.state === 'failed') throw new SideFailed(side.error?.code ?? 'conflict', side.error?.message ?? 'It failed')
    if (side.state === 'aborted') throw new Failure('conflict', { words: 'The transfer was cancelled' })
    await pause(retryLimits.pollMs, undefined, { signal: abort })
  }
}
