import { closeSync, mkdirSync, openSync } from 'node:fs'
import path from 'node:path'
import { type Dialect, Kysely } from 'kysely'
import { type Clock, systemClock } from './clock.ts'
import { type DirectReads, rememberDirectReads } from './db/direct-reads.ts'
import { type BeforeMigrating, migrate } from './db/migrate.ts'
import { migrations } from './db/migrations/index.ts'
import type { Db, Schema } from './db/schema.ts'
import { sqliteParts } from './db/sqlite.ts'
import { type Log, silentLog } from './log.ts'
import { hubSignals } from './signals/hub-client.ts'
import { memorySignals } from './signals/memory.ts'
import { signalHub } from './signals/signal-hub.ts'
import type { Signals } from './signals/signals.ts'
import { createTransaction, type Transaction } from './transaction.ts'

export interface DatabaseSettings {
  /** `postgres://…`; absent: SQLite in the folder. */
  url?: string | undefined
  folder: string
  clock?: Clock
  /**
   * How signals reach the other processes on a SQLite data folder: the process that has locked the folder is the hub, the others
   * are its clients. Absent: signals stay in this process. Ignored with PostgreSQL, which distributes signals itself.
   */
  signals?: 'hub' | 'client'
  beforeMigrating?: BeforeMigrating
}

export interface Database {
  db: Db
  kind: 'sqlite' | 'postgres'
  transaction: Transaction
  signals: Signals
  close(): Promise<void>
}

/** Opens the database and migrates it to the schema of this version. Throws a one-line error if that is impossible. */
export async function openDatabase(settings: DatabaseSettings, log: Log = silentLog): Promise<Database> {
  const { clock = systemClock } = settings
  const { kind, dialect, direct, openSignals } = await partsOf(settings, log)
  const db: Db = new Kysely<Schema>({ dialect })
  rememberDirectReads(db, direct)
  try {
    await migrate(db, kind, migrations, log, settings.beforeMigrating)
    const signals = await openSignals()
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

interface Parts {
  kind: Database['kind']
  dialect: Dialect
  direct: DirectReads
  openSignals(): Promise<Signals>
}

async function partsOf({ url, folder, signals }: DatabaseSettings, log: Log): Promise<Parts> {
  if (!url) return { kind: 'sqlite', ...sqliteParts(sqliteFile(folder)), openSignals: () => sqliteSignals(folder, signals, log) }
  // Loaded on demand: the driver takes 12 MB and 60 ms, which an instance on SQLite saves.
  const { postgresParts } = await import('./db/postgres.ts')
  const { postgresSignals } = await import('./signals/postgres.ts')
  return { kind: 'postgres', ...postgresParts(url, log), openSignals: () => postgresSignals(url, log) }
}

/** The socket in the data folder. */
export const signalsSocketName = 'signals.sock'

async function sqliteSignals(folder: string, role: DatabaseSettings['signals'], log: Log): Promise<Signals> {
  const socket = path.join(folder, signalsSocketName)
  if (role === 'hub') return signalHub(socket, log)
  return role === 'client' ? hubSignals(socket, log) : memorySignals(log)
}

/** Creates the database file, readable only by its owner. SQLite creates its other files with the same mode. */
function sqliteFile(folder: string): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const file = path.join(folder, 'berth.db')
  closeSync(openSync(file, 'a', 0o600))
  return file
}
