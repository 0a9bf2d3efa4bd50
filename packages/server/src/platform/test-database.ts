import { createHash, randomBytes } from 'node:crypto'
import { accessSync, constants, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import type { Clock } from './clock.ts'
import { type Database, openDatabase } from './database.ts'
import type { Log } from './log.ts'

/** Test support. */
export interface TestDatabase extends Database {
  /** Opens the same database again, as a second control plane or a restarted one would. */
  openAgain(options?: TestDatabaseOptions): Promise<Database>
  settings: { url?: string; folder: string }
}

export interface TestDatabaseOptions {
  /** Overrides the kind in BERTH_TEST_DATABASE. */
  kind?: Database['kind']
  clock?: Clock
  log?: Log
}

/** A fresh, migrated database of the kind in BERTH_TEST_DATABASE (`sqlite`, or `postgres` at BERTH_TEST_POSTGRES_URL); `close` removes it. */
export async function openTestDatabase(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const folder = await mkdtemp(path.join(fastTemporaryFolder(), 'berth-test-'))
  const location = (options.kind ?? testDatabaseKind()) === 'postgres' ? await createPostgresDatabase() : undefined
  if (!location) await writeFile(path.join(folder, 'berth.db'), await sqliteTemplate(), { mode: 0o600 })
  const settings = { folder, ...(location && { url: location.url }) }
  const openAgain = ({ clock, log }: TestDatabaseOptions = {}) => openDatabase({ ...settings, ...(clock && { clock }) }, log)
  const remove = async () => {
    await location?.drop()
    await rm(folder, { recursive: true, force: true })
  }
  try {
    const database = await openAgain(options)
    return { ...database, close: () => database.close().then(remove), openAgain, settings }
  } catch (error) {
    await remove()
    throw error
  }
}

/** A memory-backed folder where the machine has one: every commit waits for the disk, and tests do not need durability. */
function fastTemporaryFolder(): string {
  try {
    accessSync('/dev/shm', constants.W_OK)
    return '/dev/shm'
  } catch {
    return tmpdir()
  }
}

export function testDatabaseKind(): Database['kind'] {
  const kind = process.env.BERTH_TEST_DATABASE ?? 'sqlite'
  if (kind !== 'sqlite' && kind !== 'postgres') throw new Error(`BERTH_TEST_DATABASE is ${kind}: it must be sqlite or postgres`)
  return kind
}

async function createPostgresDatabase(): Promise<{ url: string; drop(): Promise<void> }> {
  const server = process.env.BERTH_TEST_POSTGRES_URL
  if (!server)
    throw new Error('BERTH_TEST_DATABASE is postgres, but BERTH_TEST_POSTGRES_URL is not set. Set it to a PostgreSQL server.')
  const template = await ensureTemplate(server)
  const name = `berth_test_${randomBytes(8).toString('hex')}`
  await onServer(server, (client) => client.query(`create database ${name} template ${template} strategy file_copy`))
  return {
    url: withDatabase(server, name),
    drop: () => onServer(server, async (client) => void (await client.query(`drop database if exists ${name} with (force)`))),
  }
}

let migratedFile: Promise<Buffer> | undefined

/** The bytes of a migrated SQLite file, created once per test process: the migrations take 150 ms of processor time. */
function sqliteTemplate(): Promise<Buffer> {
  migratedFile ??= (async () => {
    const folder = await mkdtemp(path.join(fastTemporaryFolder(), 'berth-template-'))
    try {
      await (await openDatabase({ folder })).close()
      return await readFile(path.join(folder, 'berth.db'))
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })()
  return migratedFile
}

let template: Promise<string> | undefined

/** Copying a migrated database takes a tenth of the time of running the migrations. */
function ensureTemplate(server: string): Promise<string> {
  template ??= onServer(server, async (client) => {
    const name = `berth_template_${migrationsDigest()}`
    // Several test processes run at once; one of them creates the template, under a temporary name until it is complete.
    await client.query('select pg_advisory_lock(hashtext($1))', [name])
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [name])
    if (rowCount) return name
    const unfinished = `${name}_${randomBytes(4).toString('hex')}`
    await client.query(`create database ${unfinished}`)
    const database = await openDatabase({ url: withDatabase(server, unfinished), folder: tmpdir() })
    await database.close()
    await client.query(`alter database ${unfinished} rename to ${name}`)
    return name
  })
  return template
}

function migrationsDigest(): string {
  const folder = path.join(import.meta.dirname, 'db', 'migrations')
  const hash = createHash('sha256')
  for (const file of readdirSync(folder).sort()) hash.update(file).update(readFileSync(path.join(folder, file)))
  return hash.digest('hex').slice(0, 12)
}

/** Connects to a PostgreSQL server for as long as `work` takes. */
export async function onServer<Result>(server: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: server })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

function withDatabase(server: string, name: string): string {
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}
