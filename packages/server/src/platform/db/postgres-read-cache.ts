import type { Awaitable } from '../awaitable.ts'
import type { DirectReads } from './direct-reads.ts'
import { ReadEntries, type StoredRows } from './read-entries.ts'

/** Runs a statement on the database, outside of a transaction. */
export type RunStatement = (sql: string, parameters: readonly unknown[]) => Promise<Record<string, unknown>[]>

/** If the result is the same text as before, no transaction has committed since, on any machine. */
const snapshotQuery = 'select pg_current_snapshot()::text as snapshot'

/**
 * Reads query the database without a check for this time after a commit: while commits follow one another, a check would only be
 * one more round trip.
 */
const busyMs = 50

/**
 * Caches the results of prepared reads as long as PostgreSQL's snapshot stays the same. A cached read waits for a check of the
 * snapshot that was sent after the read; waiting reads share one check. Rows that are unchanged stay the same objects.
 */
export class PostgresReadCache implements DirectReads {
  readonly #run: RunStatement
  readonly #now: () => number
  readonly #entries = new ReadEntries<undefined>(() => undefined)
  #snapshot: unknown
  /** Counts snapshots. */
  #epoch = 1
  /** The check that is not sent yet; a read may join it. */
  #queued: Promise<void> | undefined
  #last: Promise<unknown> = Promise.resolve()
  #isChecked = false
  #busyUntil = 0

  readonly notePrepared: (sql: string) => void

  constructor(run: RunStatement, now: () => number = () => performance.now(), notePrepared: (sql: string) => void = () => {}) {
    this.#run = run
    this.notePrepared = notePrepared
    this.#now = now
  }

  read(sql: string, parameters: readonly unknown[]): Awaitable<StoredRows> {
    if (this.#isChecked) return this.#cached(sql, parameters)
    if (this.#now() < this.#busyUntil || !this.#entries.find(sql, parameters)) return this.#query(sql, parameters, 0)
    return this.#check().then(() => this.#cached(sql, parameters))
  }

  #cached(sql: string, parameters: readonly unknown[]): Awaitable<StoredRows> {
    const entry = this.#entries.find(sql, parameters)
    if (entry?.rows && entry.readAt === this.#epoch) return entry.rows
    return this.#query(sql, parameters, this.#epoch)
  }

  /** `epoch` is the snapshot of a check before the query. With 0, no check was made: the rows are stored, but never reused. */
  async #query(sql: string, parameters: readonly unknown[], epoch: number): Promise<StoredRows> {
    return this.#entries.store(sql, parameters, await this.#run(sql, parameters), epoch)
  }

  /** Sends one check at a time; the next one serves all reads that came meanwhile. */
  #check(): Promise<void> {
    this.#queued ??= this.#last.then(() => {
      this.#queued = undefined
      const sent = this.#readSnapshot()
      this.#last = sent.catch(() => {})
      return sent
    })
    return this.#queued
  }

  async #readSnapshot(): Promise<void> {
    const [row] = await this.#run(snapshotQuery, [])
    if (row?.snapshot !== this.#snapshot) {
      this.#epoch += 1
      if (this.#snapshot !== undefined) this.#busyUntil = this.#now() + busyMs
    }
    this.#snapshot = row?.snapshot
    // The result of a check is valid until the current event of the event loop ends: a later commit is reported by another event.
    this.#isChecked = true
    process.nextTick(() => {
      this.#isChecked = false
    })
  }
}
