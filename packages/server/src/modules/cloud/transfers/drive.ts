import { setTimeout as pause } from 'node:timers/promises'
import type { Arrival, Departure, TransferPhase } from '@berth/contract'
import type { CloudTransferRow } from '../../../platform/db/tables/cloud.ts'
import { Failure } from '../../../platform/failure.ts'
import type { CloudDeps } from '../deps.ts'
import { carryFiles } from './carry-files.ts'
import { type RetryLimits, retryWhileUnreachable } from './retry-unreachable.ts'
import type { Sides } from './sides.ts'
import { enterPhase, updateTransfer } from './transfer-store.ts'

/** What every step of a move works with. */
export interface TransferContext {
  transfer: CloudTransferRow
  sides: Sides
  retryLimits: RetryLimits
  /** Nothing was done for it yet. */
  isNew: boolean
  deps: CloudDeps
  abort: AbortSignal
}

/** A side has failed, in its own words; everything is taken back. */
export class SideFailed extends Error {
  override readonly name = 'SideFailed'
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/**
 * Up to the point where the other side has everything, has checked it, and runs it without a route, while this side has stopped. May
 * be begun again at any line: what a side has done already is seen by its state.
 */
export async function prepare(context: TransferContext): Promise<void> {
  const { sides, abort, retryLimits } = context
  const { departure, arrival } = sides
  await enter('packing', context)
  // Who asks while the cloud is away is told so at once; a move that has begun waits for it.
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

/** Rejects when the move was called off: nobody is asked for the next step. */
export async function enter(phase: TransferPhase, { transfer, deps }: Pick<TransferContext, 'transfer' | 'deps'>): Promise<void> {
  if (transfer.phase === phase) return
  if (!(await enterPhase(deps.database.db, transfer.id, phase))) throw new Failure('conflict', { words: 'It was called off' })
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

/** Looks until the side is where it is to be; rejects when it has failed or was called off. */
async function until<Side extends Departure | Arrival>(
  look: () => Promise<Side>,
  wanted: readonly Side['state'][],
  { retryLimits, abort }: TransferContext,
  alsoLook?: () => Promise<unknown>,
): Promise<Side> {
  for (let looks = 1; ; looks += 1) {
    // An end that nobody asks for calls itself off.
    if (alsoLook && looks % 50 === 0) await retryWhileUnreachable(alsoLook, retryLimits, abort)
    const side = await retryWhileUnreachable(look, retryLimits, abort)
    if (wanted.includes(side.state)) return side
    if (side.state === 'failed') throw new SideFailed(side.error?.code ?? 'conflict', side.error?.message ?? 'It failed')
    if (side.state === 'aborted') throw new Failure('conflict', { words: 'The move was called off' })
    await pause(retryLimits.pollMs, undefined, { signal: abort })
  }
}
