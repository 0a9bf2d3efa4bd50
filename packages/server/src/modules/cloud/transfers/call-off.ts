import { fail } from '../../../platform/failure.ts'
import type { CloudDeps } from '../deps.ts'
import { findTransfer, isOver, markUndoing } from './transfer-store.ts'

/** Cancels a move; the job that drives it undoes everything. False: this instance does not drive a move with that id. */
export async function callOff(id: string, organizationId: string, { database }: CloudDeps): Promise<boolean> {
  const transfer = id.includes('\0') ? undefined : await findTransfer(database.db, id)
  if (transfer?.organizationId !== organizationId || isOver(transfer)) return false
  if (transfer.phase === 'undoing') return true
  const words = 'The transfer is switching traffic and can no longer be cancelled. Wait for it, then transfer the project back.'
  const marked = await markUndoing(database.db, id, { errorCode: 'cancelled', errorMessage: 'The transfer was cancelled' })
  return marked !== undefined || fail('conflict', { words })
}

const pollMs = 500

/** Aborts once the move was cancelled. */
export function watchCallingOff(id: string, { database }: Pick<CloudDeps, 'database'>): Disposable & { signal: AbortSignal } {
  const off = new AbortController()
  let isOver = false
  const look = async () => {
    // A failed read is repeated at the next poll, and once more before the cloud commits the move.
    const transfer = await findTransfer(database.db, id).catch(() => undefined)
    if (transfer?.phase === 'undoing') off.abort()
    // The next poll is scheduled after the response: a slow database does not get concurrent polls.
    else if (!isOver) timer.refresh()
  }
  const timer = setTimeout(() => void look(), pollMs)
  return {
    signal: off.signal,
    [Symbol.dispose]: () => {
      isOver = true
      clearTimeout(timer)
    },
  }
}
