import type { CategoryId } from '@berth/contract'
import { sql } from 'kysely'
import type { Clock } from './clock.ts'
import { rememberDirectStatements } from './db/direct-reads.ts'
import { assertOutsideTransaction, insideTransaction } from './db/open-transaction.ts'
import { preparedQuery } from './db/prepared.ts'
import type { Db, Tx } from './db/schema.ts'
import type { SqliteConnection } from './db/sqlite.ts'
import { isTransientConflict } from './db/violations.ts'
import { hasChanged, watchWrites } from './db/watch-writes.ts'
import { pendingRecord, type WriteRecord } from './db/write-record.ts'
import { type AnnouncementEvent, announce } from './jobs/announce.ts'
import { type Cancelled, type CancelTarget, requestCancel } from './jobs/cancel.ts'
import type { JobKind } from './jobs/declare.ts'
import { type Enqueued, type EnqueueOptions, insertJob, type JobsSignal, jobsTopic } from './jobs/enqueue.ts'
import { removeSchedule, type Schedule, setSchedule } from './jobs/schedules.ts'
import type { Signals } from './signals/signals.ts'

/** Everything that a transaction may do: it commits as a whole or not at all, and its effects are visible only after the commit. */
export interface TransactionContext {
  db: Db
  enqueue<Payload>(job: JobKind<Payload>, payload: NoInfer<Payload>, options?: EnqueueOptions): Promise<Enqueued>
  /** A queued job is cancelled with the commit; a running one gets its abort signal after it. */
  cancelJob(target: CancelTarget): Promise<Cancelled | undefined>
  schedule<Payload>(schedule: Schedule<Payload>): Promise<{ nextRunAt: Date }>
  unschedule(key: string): Promise<void>
  signal(topic: string, event: object): void
  announce(category: CategoryId, event: AnnouncementEvent): Promise<void>
  /** Takes an exclusive lock by name until the transaction ends. */
  lock(name: string): Promise<void>
}

export interface TransactionOptions {
  /** PostgreSQL's default is read committed; SQLite is always serializable. */
  isolation?: 'repeatable read' | 'serializable'
}

/** `work` is retried when PostgreSQL reports a deadlock or a serialization failure, so it must use only `context`. */
export type Transaction = <Result>(
  work: (context: TransactionContext) => Promise<Result>,
  options?: TransactionOptions,
) => Promise<Result>

const attempts = 5

export function createTransaction(parts: { db: Db; kind: 'sqlite' | 'postgres'; signals: Signals; clock: Clock }): Transaction {
  const { db, kind, signals, clock } = parts
  const transaction: Transaction = async (work, options) => {
    const record = pendingRecord()
    if (!record || kind === 'postgres') return run(record, work, options)
    assertOutsideTransaction()
    // Otherwise both could share a commit and block each other: the second transaction of a request ends only after the first one
    // has committed, and a shared commit waits until all of its transactions have ended.
    return record.afterOthers(() => run(record, work, options))
  }
  const run = async <Result>(
    record: WriteRecord | undefined,
    work: (context: TransactionContext) => Promise<Result>,
    { isolation }: TransactionOptions = {},
  ): Promise<Result> => {
    const builder = kind === 'postgres' && isolation ? db.transaction().setIsolationLevel(isolation) : db.transaction()
    for (let attempt = 1; ; attempt++) {
      const outbox: [topic: string, event: object][] = []
      const recordedTransaction = record && new RecordedTransaction(record)
      try {
        const result = await builder.execute((tx) =>
          insideTransaction(async () => {
            const context = createContext(tx, kind, clock, outbox)
            recordedTransaction?.watch(tx)
            if (kind === 'sqlite') await runPreparedAtOnce(tx, () => recordedTransaction?.noteWritten())
            const done = await work(context)
            await recordedTransaction?.beforeCommit(context)
            return done
          }),
        )
        recordedTransaction?.onEnd(true)
        for (const [topic, event] of outbox) signals.publish(topic, event)
        return result
      } catch (error) {
        recordedTransaction?.onEnd(false)
        if (attempt === attempts || !isTransientConflict(error)) throw error
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 20 * 2 ** attempt))
      }
    }
  }
  // A single write statement of a request that must be audited gets a transaction, so that its audit record commits with it.
  watchWrites(db, (query, execute) => (pendingRecord() ? transaction(({ db: tx }) => tx.executeQuery(query)) : execute()))
  return transaction
}

/** Lets prepared statements of the transaction skip Kysely's queue: its promises cost more than the statements. */
async function runPreparedAtOnce(tx: Tx, noteWritten: () => void): Promise<void> {
  const connection = await tx.getExecutor().provideConnection(async (own) => own as SqliteConnection)
  rememberDirectStatements(tx, {
    run(statement, parameters) {
      const { rows, changes } = connection.runPrepared(statement, parameters)
      if (statement.query.kind !== 'SelectQueryNode' && changes !== 0) noteWritten()
      return rows
    },
  })
}

/** An attempt of a transaction within a request whose audit record commits with its first write. */
class RecordedTransaction {
  readonly #record: WriteRecord
  #hasWritten = false
  #hasRecord = false

  constructor(record: WriteRecord) {
    this.#record = record
  }

  watch(tx: Tx): void {
    watchWrites(tx, async (_query, execute) => {
      const result = await execute()
      if (hasChanged(result)) this.noteWritten()
      return result
    })
  }

  noteWritten(): void {
    this.#hasWritten = true
  }

  async beforeCommit(context: TransactionContext): Promise<void> {
    if (this.#hasWritten) this.#hasRecord = await this.#record.appendWithin(context)
  }

  onEnd(hasCommitted: boolean): void {
    if (this.#hasRecord) this.#record.end(hasCommitted)
  }
}

const lockTaken = preparedQuery((db, { name }: { name: string }) =>
  db.selectNoFrom(sql`pg_advisory_xact_lock(hashtextextended(${name}, 0))`.as('taken')),
)

function createContext(tx: Tx, kind: 'sqlite' | 'postgres', clock: Clock, outbox: [string, object][]): TransactionContext {
  const wake = (signal: JobsSignal = { due: true }) => outbox.push([jobsTopic, signal])
  return {
    db: tx,
    async enqueue(job, payload, options) {
      const enqueued = await insertJob(tx, clock.now(), job, payload, options)
      if (enqueued.isNew) wake()
      return enqueued
    },
    async cancelJob(target) {
      const cancelled = await requestCancel(tx, clock.now(), target)
      if (cancelled?.isRunning) wake({ cancel: cancelled.id })
      return cancelled
    },
    async schedule(schedule) {
      wake({ schedules: true })
      return await setSchedule(tx, clock.now(), schedule)
    },
    unschedule: (key) => removeSchedule(tx, key),
    signal: (topic, event) => void outbox.push([topic, event]),
    async announce(category, event) {
      await announce(tx, clock.now(), category, event)
      wake()
    },
    async lock(name) {
      // SQLite allows only one writer at a time anyway.
      if (kind === 'postgres') await lockTaken.all(tx, { name })
    },
  }
}
