import { Failure } from '../../../platform/failure.ts'
import { isUnreachable } from '../cloud-answer.ts'
import type { TransferContext } from './drive.ts'
import { retryWhileUnreachable } from './retry-unreachable.ts'

/**
 * Undoes the move on both sides. Only called before the cloud was asked to commit, or after it decided against the move, so the
 * cloud's side can never serve because of this move. False: the cloud was unreachable; it cancels its side by itself later.
 */
export async function undo({ transfer, sides, retryLimits, abort }: TransferContext): Promise<boolean> {
  const brief = { ...retryLimits, giveUpMs: Math.min(retryLimits.giveUpMs, 5_000) }
  const call = (change: () => Promise<unknown>) =>
    retryWhileUnreachable(change, brief, abort).then(
      () => true,
      (error: unknown) => {
        abort.throwIfAborted()
        // The side was never begun, or has ended already.
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
