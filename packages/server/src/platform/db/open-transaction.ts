import { AsyncLocalStorage } from 'node:async_hooks'

const current = new AsyncLocalStorage<{ isOpen: boolean }>()

/** Runs `work` as a transaction: until it ends, queries on the root database inside it throw. */
export async function insideTransaction<Result>(work: () => Promise<Result>): Promise<Result> {
  const state = { isOpen: true }
  try {
    return await current.run(state, work)
  } finally {
    state.isOpen = false
  }
}

/**
 * Rejects a query on the root database inside a transaction. On SQLite the query would wait for ever for its own transaction to
 * end; on PostgreSQL it would silently run outside the transaction.
 */
export function assertOutsideTransaction(): void {
  if (current.getStore()?.isOpen) {
    throw new Error('this query runs inside a transaction() but on the root database: use the db of the transaction')
  }
}
