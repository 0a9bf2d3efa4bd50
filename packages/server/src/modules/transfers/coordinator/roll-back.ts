import { Failure } from '../../../platform/failure.ts'
import { isUnreachable } from '../../cloud/index.ts'
import type { TransferContext } from './prepare.ts'
import { retryWhileUnreachable } from './retry-unreachable.ts'

/**
 * Rolls the transfer back on both sides. Only called before the cloud was asked to commit, or after it decided against it, so the
 * cloud's side can never serve because of this transfer. False: the cloud was unreachable; it cancels its side by itself later.
 */
export async function rollBack({ transfer, sides, retryLimits, abort }: TransferContext): Promise<boolean> {
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
  const localSide = transfer.direction === 'to_cloud' ? sides.source : sides.target
  const isHereDone = await call(() =>
    localSide === sides.source ? sides.source.change('aborted') : sides.target.change({ state: 'aborted' }),
  )
  const isThereDone = await call(() =>
    localSide === sides.source ? sides.target.change({ state: 'aborted' }) : sides.source.change('aborted'),
  )
  return isHereDone && isThereDone
}
