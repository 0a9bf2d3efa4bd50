import { fail } from '../../../platform/failure.ts'
import type { TransfersDeps } from '../deps.ts'
import { findTransfer, hasEnded, markUndoing } from '../rows/transfer-store.ts'

/** Cancels a transfer; its job rolls it back. False: this instance does not coordinate a transfer with that id. */
export async function cancelTransfer(id: string, organizationId: string, { database }: TransfersDeps): Promise<boolean> {
  const transfer = id.includes('\0') ? undefined : await findTransfer(database.db, id)
  if (transfer?.organizationId !== organizationId || hasEnded(transfer)) return false
  if (transfer.phase === 'undoing') return true
  const message = 'The transfer is switching traffic and can no longer be cancelled. Wait for it, then transfer the project back.'
  const marked = await markUndoing(database.db, id, { errorCode: 'cancelled', errorMessage: 'The transfer was cancelled' })
  return marked !== undefined || fail('conflict', { message })
}

const pollMs = 500

/** Aborts once the transfer was cancelled. */
export function watchCancelled(id: string, { database }: Pick<TransfersDeps, 'database'>): Disposable & { signal: AbortSignal } {
  const cancelled = new AbortController()
  let isDisposed = false
  const poll = async () => {
    // A failed read is repeated at the next poll, and once more before the cloud commits the transfer.
    const transfer = await findTransfer(database.db, id).catch(() => undefined)
    if (transfer?.phase === 'undoing') cancelled.abort()
    // The next poll is scheduled after the response: a slow database does not get concurrent polls.
    else if (!isDisposed) timer.refresh()
  }
  const timer = setTimeout(() => void poll(), pollMs)
  return {
    signal: cancelled.signal,
    [Symbol.dispose]: () => {
      isDisposed = true
      clearTimeout(timer)
    },
  }
}
