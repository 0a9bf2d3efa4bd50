import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../platform/test-database.ts'
import type { Logger } from './logger.ts'
import { updateMovedPaths } from './moved-folder.ts'

const logger = { info: () => undefined, warn: () => undefined } as never as Logger
let dataDir: string
let outside: string
let database: TestDatabase
beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'berth-moved-'))
  outside = join('/var/lib/berth', createHash('sha256').update(dataDir).digest('hex').slice(0, 16))
  database = await openTestDatabase()
  // The deployment below belongs to no project.
  if (database.kind === 'sqlite') await sql`pragma foreign_keys = off`.execute(database.db)
})
afterEach(async () => {
  await database.close()
  rmSync(dataDir, { recursive: true, force: true })
  rmSync(outside, { recursive: true, force: true })
})

/** Earlier versions, when run as root, kept volumes and builds outside the data folder. */
describe.runIf(process.getuid?.() === 0)('data that an older version kept outside the data folder', () => {
  const site = 'artifacts/dep_00000000000000000000/static'
  async function leaveOutside() {
    mkdirSync(join(outside, 'volumes', 'vol_1'), { recursive: true })
    writeFileSync(join(outside, 'volumes', 'vol_1', 'kept'), 'kept', { mode: 0o640 })
    mkdirSync(join(outside, site), { recursive: true })
    const empty = { projectId: 'prj_1', environment: 'production', number: 1, trigger: 'manual', status: 'live' } as const
    const artifacts = JSON.stringify([{ kind: 'static', reference: join(outside, site) }])
    await database.db
      .insertInto('deployments')
      .values({
        id: 'dep_00000000000000000000',
        ...empty,
        source: '{}',
        config: '{}',
        steps: '[]',
        force: 0,
        createdAt: 1,
        artifacts,
      })
      .execute()
  }
  const follow = () => updateMovedPaths(dataDir, database.db, logger)
  const reference = async () => {
    const { artifacts } = await database.db.selectFrom('deployments').select('artifacts').executeTakeFirstOrThrow()
    return JSON.parse(artifacts as string)[0].reference
  }
  const kept = () => join(dataDir, 'processes', 'volumes', 'vol_1', 'kept')

  test('is moved into the data folder, and the database is updated', async () => {
    await leaveOutside()
    await follow()
    expect([readFileSync(kept(), 'utf8'), statSync(kept()).mode & 0o777, existsSync(outside)]).toEqual(['kept', 0o640, false])
    expect(await reference()).toBe(join(dataDir, 'processes', site))
  })

  test('is found after a start that failed between moving the files and updating the database', async () => {
    await leaveOutside()
    const broken = new Proxy(database.db, {
      get: (db, name) => (name === 'updateTable' ? () => expect.fail('power failure') : Reflect.get(db, name).bind(db)),
    })
    await expect(updateMovedPaths(dataDir, broken, logger)).rejects.toThrow('power failure')
    await follow()
    expect(readFileSync(kept(), 'utf8')).toBe('kept')
    expect(await reference()).toBe(join(dataDir, 'processes', site))
  })
})
