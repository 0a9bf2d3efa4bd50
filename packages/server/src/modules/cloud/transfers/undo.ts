import { Failure } from '../../../platform/failure.ts'
import { isUnreachable } from './cloud-answer.ts'
import type { TransferContext } from './drive.ts'
import { retryWhileUnreachable } from './retry-unreachable.ts'

/**
 * Nothing has changed on either side afterwards. Only called while nobody has asked the cloud to decide, or after it decided against the
 * move: so its end can never serve because of us. False: the cloud could not be reached; it calls its end off by itself, too, later.
 */
export async function undo({ transfer, sides, retryLimits, abort }: TransferContext): Promise<boolean> {
  const brief = { ...retryLimits, giveUpMs: Math.min(retryLimits.giveUpMs, 5_000) }
  const call = (change: () => Promise<unknown>) =>
    retryWhileUnreachable(change, brief, abort).then(
      () => true,
      (error: unknown) => {
        abort.throwIfAborted()
        // It was never begun, or is over already.
        if (error instanceof Failure && !isUnreachable(error)) return true
        return false
      },
    )
  const here = transfer.direction === 'to_cloud' ? sides.departure : sides.arrival
  const isHereDone = await call(() =>
    here === sides.departure ? sides.departure.change('aborted') : sides.arrival.change({ state: 'aborted' }),
  )
  const isThereDone = await call(() =>
    here === sides.departure ? sides.arrival.change({ state: 'aborted' }) : sides.departure.change('aborted'),
  )
  return isHereDone && isThereDone
}
