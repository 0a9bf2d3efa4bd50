import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { Kysely } from 'kysely'
import { memorySignals } from '../signals/memory.ts'
import { postgresSignals } from '../signals/postgres.ts'
import type { Signals } from '../signals/signals.ts'
import { type Clock, systemClock } from './clock.ts'
import { rememberDirectReads } from './direct-reads.ts'
import { type Log, silentLog } from './log.ts'
import { migrate } from './migrate.ts'
import { migrations } from './migrations/index.ts'
import { postgresParts } from './postgres.ts'
import type { Db, Schema } from './schema.ts'
import { sqliteParts } from './sqlite.ts'
import { createTransaction, type Transaction } from './transaction.ts'

export interface DatabaseSettings {
  /** `postgres://…`; absent: SQLite in the folder. */
  url?: string | undefined
  folder: string
  clock?: Clock
}

export interface Database {
  db: Db
  kind: 'sqlite' | 'postgres'
  transaction: Transaction
  signals: Signals
  close(): Promise<void>
}

/** Opens the database at this build's schema, or refuses with one clear line. */
export async function openDatabase(settings: DatabaseSettings, log: Log = silentLog): Promise<Database> {
  const { url, folder, clock = systemClock } = settings
  const kind = url ? 'postgres' : 'sqlite'
  const { dialect, direct } = url ? postgresParts(url, log) : sqliteParts(sqliteFile(folder))
  const db: Db = new Kysely<Schema>({ dialect })
  rememberDirectReads(db, direct)
  try {
    await migrate(db, kind, migrations, log)
    const signals = url ? await postgresSignals(url, log) : memorySignals(log)
    const close = async () => {
      await signals.close()
      await db.destroy()
    }
    return { db, kind, signals, close, transaction: createTransaction({ db, kind, signals, clock }) }
  } catch (error) {
    await db.destroy()
    throw error
  }
}

/** The folder holds every secret of the control plane's state: it is for its owner alone. */
function sqliteFile(folder: string): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return path.join(folder, 'berth.db')
}
