import { setImmediate as afterThisTurn } from 'node:timers'
import { whileBusy } from './sqlite-busy.ts'
import type { SqliteFile, SqliteResult } from './sqlite-file.ts'

/** Maximum number of transactions in one commit, which holds the write lock of the file: another process may wait for it. */
const maxMembers = 50

/** Transactions that wait for the same commit. */
interface Group {
  /** Settles with the commit. */
  ended: PromiseWithResolvers<void>
  members: number
  /** Set after the turn of the event loop in which the group was opened: no further member may join. */
  isClosed: boolean
  /** The error with which SQLite rolled back the whole group. */
  failure?: unknown
}

interface Waiting {
  isAlone: boolean
  granted: PromiseWithResolvers<void>
}

/**
 * The transactions of the connection that writes: one after another, in the order of their requests. Those of the same turn of the
 * event loop share one commit, because each commit waits for the disk: they are savepoints of one transaction. A member that
 * fails is rolled back alone. Every member, even a failed one, ends only when the shared commit is on disk: the error of a failed
 * member may come from rows that another member has written, and must not be reported before these rows are stored.
 */
export class SharedCommits {
  readonly #writer: SqliteFile
  readonly #waiting: Waiting[] = []
  #isFree = true
  #group: Group | undefined

  constructor(writer: SqliteFile) {
    this.#writer = writer
  }

  /** Begins a transaction when all earlier ones have ended or wait for their commit. */
  async begin(): Promise<Member> {
    await this.#take(false)
    const group = this.#group ?? (await this.#open())
    group.members += 1
    try {
      return new Member(this.#writer, group, (isOpen) => this.#end(group, isOpen))
    } catch (error) {
      const isOpen = this.#writer.isInTransaction
      if (!isOpen) group.failure = error
      this.#end(group, isOpen).catch(() => {})
      throw error
    }
  }

  /** Runs a statement that must not be part of a transaction, or whose kind is unknown. */
  async runAlone(run: () => SqliteResult): Promise<SqliteResult> {
    await this.#take(true)
    try {
      return await whileBusy(run)
    } finally {
      this.#passOn()
    }
  }

  /** Commits transactions that have ended, before the file is closed. */
  close(): void {
    if (this.#isFree && this.#group) this.#commit(this.#group)
  }

  async #take(isAlone: boolean): Promise<void> {
    if (this.#isFree && !(isAlone && this.#group)) {
      this.#isFree = false
      return
    }
    const granted = Promise.withResolvers<void>()
    this.#waiting.push({ isAlone, granted })
    await granted.promise
  }

  async #open(): Promise<Group> {
    try {
      await whileBusy(() => this.#writer.run('begin immediate', []))
    } catch (error) {
      this.#passOn()
      throw error
    }
    const group: Group = { ended: Promise.withResolvers(), members: 0, isClosed: false }
    // Members await this promise. If none is left, a rejection must not be unhandled.
    group.ended.promise.catch(() => {})
    this.#group = group
    afterThisTurn(() => this.#close(group))
    return group
  }

  #close(group: Group): void {
    group.isClosed = true
    if (this.#group !== group || !this.#isFree) return
    this.#commit(group)
    this.#passOn()
  }

  /** Ends a member. `isOpen` is false if the whole transaction was rolled back. */
  #end(group: Group, isOpen: boolean): Promise<void> {
    if (!isOpen) {
      this.#group = undefined
      if (group.failure === undefined) group.ended.resolve()
      else group.ended.reject(group.failure)
    }
    this.#passOn()
    return group.ended.promise
  }

  /** Gives the connection to the next transaction. If that one cannot join the open group, the group is committed first. */
  #passOn(): void {
    const group = this.#group
    const [next] = this.#waiting
    const mustCommit = group && (group.isClosed || group.members >= maxMembers || next?.isAlone)
    if (mustCommit) this.#commit(group)
    this.#isFree = next === undefined
    this.#waiting.shift()?.granted.resolve()
  }

  #commit(group: Group): void {
    this.#group = undefined
    try {
      this.#writer.run('commit', [])
      group.ended.resolve()
    } catch (error) {
      group.ended.reject(error)
      rollBack(this.#writer)
    }
  }
}

/** If this fails as well, the next `begin` reports it: the transactions that wait must not wait forever. */
function rollBack(writer: SqliteFile): void {
  try {
    if (writer.isInTransaction) writer.run('rollback', [])
  } catch {
    // Reported by the next `begin`.
  }
}

const savepoint = 'savepoint berth_member'
const releaseSavepoint = 'release berth_member'
const rollbackToSavepoint = 'rollback to berth_member'

/** A transaction of a group. */
export class Member {
  readonly #writer: SqliteFile
  readonly #group: Group
  readonly #end: (isOpen: boolean) => Promise<void>
  /** The first member has none: when it fails, no other member has written yet, and the whole transaction is rolled back. */
  readonly #hasSavepoint: boolean
  #hasEnded = false

  constructor(writer: SqliteFile, group: Group, end: (isOpen: boolean) => Promise<void>) {
    this.#writer = writer
    this.#group = group
    this.#end = end
    this.#hasSavepoint = group.members > 1
    if (this.#hasSavepoint) writer.run(savepoint, [])
  }

  /** A query that ran concurrently with a failed one must not write into the next transaction. */
  run(sql: string, parameters: readonly unknown[]): SqliteResult {
    this.assertOpen()
    try {
      return this.#writer.run(sql, parameters)
    } catch (error) {
      // SQLite rolls back the whole transaction after some failures, such as a full disk.
      if (!this.#writer.isInTransaction) this.#group.failure = error
      throw error
    }
  }

  iterate(sql: string, parameters: readonly unknown[]): Generator<Record<string, unknown>> {
    this.assertOpen()
    return this.#writer.iterate(sql, parameters)
  }

  assertOpen(): void {
    if (this.#hasEnded) throw new Error('the transaction that this query belongs to has ended')
    if (this.#group.failure !== undefined) throw this.#group.failure
  }

  /** Resolves when the shared commit is on disk. */
  async commit(): Promise<void> {
    await this.#endOnce(true)
  }

  /** Resolves when the shared commit of the other members is on disk. Does nothing if this member has already ended. */
  async rollback(): Promise<void> {
    await this.#endOnce(false)
  }

  async #endOnce(isKept: boolean): Promise<void> {
    if (this.#hasEnded) return
    this.#hasEnded = true
    await this.#end(this.#finish(isKept))
  }

  /** Returns false if the whole transaction was rolled back. */
  #finish(isKept: boolean): boolean {
    if (this.#group.failure !== undefined) return false
    try {
      if (isKept && this.#hasSavepoint) this.#writer.run(releaseSavepoint, [])
      if (isKept) return true
      if (!this.#hasSavepoint) {
        this.#writer.run('rollback', [])
        return false
      }
      this.#writer.run(rollbackToSavepoint, [])
      this.#writer.run(releaseSavepoint, [])
      return true
    } catch (error) {
      this.#group.failure = error
      rollBack(this.#writer)
      return false
    }
  }
}
