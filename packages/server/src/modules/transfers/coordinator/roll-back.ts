import { Failure } from '../../../platform/failure.ts'
import { isUnreachable } from '../../cloud/index.ts'
import { retryWhileUnreachable } from '../retry-unreachable.ts'
import type { TransferContext } from './prepare.ts'

/**
 * Rolls the transfer back on both sides. Called only before the commit was requested from the cloud, or after the cloud refused it,
 * so the cloud's side cannot serve because of this transfer. False: the cloud was unreachable; it cancels its side by itself later.
 */
export async function rollBack({ transfer, sides, retryLimits, abort }: TransferContext): Promise<boolean> {
  const shortRetry = { ...retryLimits, giveUpMs: Math.min(retryLimits.giveUpMs, 5_000) }
  const call = (change: () => Promise<unknown>) =>
    retryWhileUnreachable(change, shortRetry, abort).then(
      () => true,
      (error: unknown) => {
        abort.throwIfAborted()
        // The side has not begun the transfer, or has already ended it.
        if (error instanceof Failure && !isUnreachable(error)) return true
        return false
      },
    )
  const localSide = transfer.direction === 'to_cloud' ? sides.source : sides.target
  const isLocalDone = await call(() =>
    localSide === sides.source ? sides.source.change('aborted') : sides.target.change({ state: 'aborted' }),
  )
  const isRemoteDone = await call(() =>
    localSide === sides.source ? sides.target.change({ state: 'aborted' }) : sides.source.change('aborted'),
  )
  return isLocalDone && isRemoteDone
}
