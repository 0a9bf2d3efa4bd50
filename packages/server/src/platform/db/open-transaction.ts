import { AsyncLocalStorage } from 'node:async_hooks'

const current = new AsyncLocalStorage<{ open: boolean }>()

/** Runs `work` so that a query on the root database from inside it is refused until it has ended. */
export async function insideTransaction<Result>(work: () => Promise<Result>): Promise<Result> {
  const mark = { open: true }
  try {
    return await current.run(mark, work)
  } finally {
    mark.open = false
  }
}

/**
 * A query that leaves its transaction waits for itself for ever on SQLite, and silently does not belong to the
 * transaction on PostgreSQL. Both databases refuse it in the same words.
 */
export function assertOutsideTransaction(): void {
  if (current.getStore()?.open) {
    throw new Error('this query runs inside a transaction() but on the root database: use the db that the transaction hands out')
  }
}
