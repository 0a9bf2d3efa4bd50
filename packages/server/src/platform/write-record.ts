import { AsyncLocalStorage } from 'node:async_hooks'
import type { Db } from './db/schema.ts'

/** The transaction that a record is appended in. */
export interface RecordingTransaction {
  db: Db
  /** Until the transaction ends, no other one holds a lock of this name. */
  lock(name: string): Promise<void>
}

/** Names what a request writes, where its path does not. */
export interface WriteDetails {
  objectKind?: string
  objectId?: string
  /** The object is the one whose id, made during the request, has this prefix; known before its row is committed. */
  made?: string
  organizationId?: string
  userId?: string
  changes?: unknown
}

interface Recording {
  /** Appends the record within a transaction of the request. */
  append(transaction: RecordingTransaction): Promise<void>
  /** Appends it in a transaction of its own. */
  appendAlone(): Promise<void>
}

/**
 * The record of one request that writes. It is appended by the first transaction of the request that writes something, and commits
 * or rolls back with it; another one waits with its commit meanwhile. A write without its record exists at no moment.
 */
export class WriteRecord {
  readonly details: WriteDetails = {}
  readonly #madeIds = new Map<string, string>()
  #recording: Recording | undefined
  #isCommitted = false
  /** Resolves when the transaction that has appended the record has ended. */
  #underWay: PromiseWithResolvers<void> | undefined

  constructor(recording: Recording) {
    this.#recording = recording
  }

  get isPending(): boolean {
    return !this.#isCommitted
  }

  madeId(prefix: string): string | undefined {
    return this.#madeIds.get(prefix)
  }

  /** A transaction that is run again makes a new id: the last one counts. */
  noteMade(prefix: string, id: string): void {
    if (this.isPending) this.#madeIds.set(prefix, id)
  }

  /** As the last step of a transaction that has written. True: `end` has to be called when the transaction has ended. */
  async appendWithin(transaction: RecordingTransaction): Promise<boolean> {
    while (this.#underWay) await this.#underWay.promise
    if (this.#isCommitted || !this.#recording) return false
    this.#underWay = Promise.withResolvers()
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
    this.#underWay?.resolve()
    this.#underWay = undefined
  }

  /**
   * Appends before an effect outside the database, or at the end of a request that wrote nothing. No transaction waits for it, because on
   * SQLite it waits for theirs: one that writes at this very moment has an entry of its own.
   */
  async appendNow(): Promise<void> {
    while (this.#underWay) await this.#underWay.promise
    if (this.#isCommitted || !this.#recording) return
    await this.#recording.appendAlone()
    this.#isCommitted = true
  }

  /** Work that the request left running writes without it. */
  close(): void {
    this.#recording = undefined
    this.#madeIds.clear()
    this.end(true)
  }
}

const current = new AsyncLocalStorage<WriteRecord | undefined>()

/** The transactions of `work` commit `record`. */
export const recordedBy = <Result>(record: WriteRecord, work: () => Result): Result => current.run(record, work)

/** Transactions of `work` are not of the request that is under way. */
export const unrecorded = <Result>(work: () => Result): Result => current.run(undefined, work)

/** The record of the request under way, if it is not committed yet. */
export function pendingRecord(): WriteRecord | undefined {
  const record = current.getStore()
  return record?.isPending ? record : undefined
}

/** Right before an effect outside the database, which no transaction takes back: from here on the request is on record. */
export async function putOnRecord(): Promise<void> {
  await pendingRecord()?.appendNow()
}

/** Called before the commit of the row that it names. */
export function describeWrite(details: WriteDetails): void {
  const record = current.getStore()
  if (record) Object.assign(record.details, details)
}
