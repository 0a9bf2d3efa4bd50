import { createHash } from 'node:crypto'
import type pg from 'pg'
import { noteUnavailable } from './unavailable.ts'
import { isOutdatedPlan } from './violations.ts'

type Query = (...args: unknown[]) => unknown

/**
 * Names of statements: PostgreSQL parses and plans a named statement once per connection. Only prepared statements are named,
 * because PostgreSQL keeps the plans as long as the connection is open.
 */
export class PostgresStatements {
  readonly #names = new Map<string, string>()

  /** The name of a prepared statement. */
  name(sql: string): string {
    const known = this.#names.get(sql)
    if (known) return known
    const name = `berth_${createHash('sha256').update(sql).digest('hex').slice(0, 24)}`
    this.#names.set(sql, name)
    return name
  }

  /** Lets the client run prepared statements by name, and marks the errors of queries that ended because their connection was lost. */
  use(client: pg.PoolClient): void {
    const query = client.query.bind(client) as Query
    /** Statements whose plan a newer control plane has outdated by adding a column. */
    const outdated = new Set<string>()
    const runNamed = (name: string, text: string, values: unknown) =>
      (query({ name, text, values }) as Promise<unknown>).catch((error: unknown) => {
        if (!isOutdatedPlan(error)) throw error
        outdated.add(text)
        // A failed transaction is repeated as a whole.
        if (client.getTransactionStatus() !== 'I') throw error
        return query(text, values)
      })
    client.query = ((...args: unknown[]) => {
      const [text, values, callback] = args
      const name = typeof text === 'string' && !callback && !outdated.has(text) ? this.#names.get(text) : undefined
      const result = name ? runNamed(name, text as string, values) : query(...args)
      return result instanceof Promise ? result.catch(rethrowNoted) : result
    }) as typeof client.query
  }
}

export const rethrowNoted = (error: unknown): never => {
  throw noteUnavailable(error)
}
