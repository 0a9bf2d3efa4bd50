import { AsyncLocalStorage } from 'node:async_hooks'
import type { Db } from './schema.ts'

/** The transaction that a record is appended in. */
export interface RecordingTransaction {
  db: Db
  /** Takes an exclusive lock by name until the transaction ends. */
  lock(name: string): Promise<void>
}

/** Names the object that a request writes, if its path does not. */
export interface WriteDetails {
  objectKind?: string
  objectId?: string
  /** Prefix of the id that the request creates for its object; the id is known before its row is committed. */
  made?: string
  organizationId?: string
  userId?: string
  changes?: unknown
}

interface Recording {
  /** Appends the record within a transaction of the request. */
  append(transaction: RecordingTransaction): Promise<void>
  /** Appends the record in its own transaction. */
  appendAlone(): Promise<void>
}

/**
 * The audit record of one request that writes. The first transaction of the request that writes appends it, and it commits or rolls
 * back with that transaction; other transactions of the request wait before their commit. No write commits without its record.
 */
export class WriteRecord {
  readonly details: WriteDetails = {}
  readonly #createdIds = new Map<string, string>()
  #recording: Recording | undefined
  #isCommitted = false
  /** Resolves when the transaction that has appended the record has ended. */
  #appending: PromiseWithResolvers<void> | undefined
  #lastTransaction: Promise<unknown> | undefined

  constructor(recording: Recording) {
    this.#recording = recording
  }

  get isPending(): boolean {
    return !this.#isCommitted
  }

  /** Runs a transaction when the earlier ones of the request have ended. */
  afterOthers<Result>(run: () => Promise<Result>): Promise<Result> {
    const result = this.#lastTransaction ? this.#lastTransaction.then(run) : run()
    this.#lastTransaction = result.then(ignore, ignore)
    return result
  }

  createdId(prefix: string): string | undefined {
    return this.#createdIds.get(prefix)
  }

  /** A retried transaction creates a new id: the last one counts. */
  noteCreated(prefix: string, id: string): void {
    if (this.isPending) this.#createdIds.set(prefix, id)
  }

  /**
   * Called as the last step of a transaction that has written. Returns true if `end` must be called when the transaction has ended.
   */
  async appendWithin(transaction: RecordingTransaction): Promise<boolean> {
    while (this.#appending) await this.#appending.promise
    if (this.#isCommitted || !this.#recording) return false
    this.#appending = Promise.withResolvers()
    try {
      await this.#recording.append(transaction)
      return true
    } catch (error) {
      this.end(false)
      throw error
    }
  }

  end(hasCommitted: boolean): void {
    this.#isCommitted ||= hasCommitted
    this.#appending?.resolve()
    this.#appending = undefined
  }

  /**
   * Appends before an effect outside the database, or at the end of a request that wrote nothing. Transactions do not wait for it,
   * because on SQLite it waits for them: a transaction that writes at the same moment appends its own record.
   */
  async appendNow(): Promise<void> {
    while (this.#appending) await this.#appending.promise
    if (this.#isCommitted || !this.#recording) return
    await this.#recording.appendAlone()
    this.#isCommitted = true
  }

  /** Called when the request ends. Work that continues afterwards writes without this record. */
  close(): void {
    this.#recording = undefined
    this.#createdIds.clear()
    this.end(true)
  }
}

const ignore = (): void => undefined

const current = new AsyncLocalStorage<WriteRecord | undefined>()

/** Runs `work` so that its transactions commit `record`. */
export const recordedBy = <Result>(record: WriteRecord, work: () => Result): Result => current.run(record, work)

/** Runs `work` so that its transactions do not belong to the current request. */
export const unrecorded = <Result>(work: () => Result): Result => current.run(undefined, work)

/** The record of the current request, if it is not committed yet. */
export function pendingRecord(): WriteRecord | undefined {
  const record = current.getStore()
  return record?.isPending ? record : undefined
}

/** Appends the audit record right before an effect outside the database, which no rollback can undo. */
export async function writeAuditRecord(): Promise<void> {
  await pendingRecord()?.appendNow()
}

/** Adds details to the audit record of the current request. Must be called before the commit of the row that they name. */
export function describeWrite(details: WriteDetails): void {
  const record = current.getStore()
  if (record) Object.assign(record.details, details)
}
