import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createLogStore, type LogStore } from '../../../platform/log-store/log-store.ts'
import { openTestDatabase } from '../../../platform/test-database.ts'
import { findInstance } from '../instance-store.ts'
import { LogPositions } from './log-positions.ts'

const row = {
  id: 'ins_a',
  deploymentId: 'dep_a',
  projectId: 'prj_a',
  environment: 'production',
  service: '',
  exposed: 1,
  runtime: 'process',
  serverId: null,
  state: 'running',
  host: null,
  port: null,
  listener: null,
  logPosition: null,
  completed: 0,
  createdAt: 0,
} as const

/** An instance whose log keeps lines in memory until they are written on request. */
async function prepare() {
  const database = await openTestDatabase({ kind: 'sqlite' })
  await database.db.insertInto('instances').values(row).execute()
  const folder = mkdtempSync(join(tmpdir(), 'berth-positions-'))
  const logStore = createLogStore({ folder, flushMs: 3_600_000 })
  onTestFinished(async () => {
    await logStore.close()
    rmSync(folder, { recursive: true })
    await database.close()
  })
  const append = (message: string) =>
    logStore.append('prj_a', 'runtime', [
      { stream: 'stdout', message, environment: 'production', service: null, deploymentId: null },
    ])
  return {
    database,
    logStore,
    append,
    stored: () => storedText(folder),
    position: async () => (await findInstance(database.db, row.id))?.logPosition,
  }
}

const storedText = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
    .join('')

test('the lines before a saved position are in the file', async () => {
  const { database, logStore, append, stored, position } = await prepare()
  const positions = new LogPositions({ database, logStore })
  await append('line 137')
  expect(stored()).not.toContain('line 137')
  positions.set(row, '137')
  await positions.save()
  expect(await position()).toBe('137')
  expect(stored()).toContain('line 137')
})

test('a position is not saved while its lines cannot be written, and is saved with the next one', async () => {
  const { database, logStore, append, stored, position } = await prepare()
  const diskFull: Pick<LogStore, 'write'> = { write: () => Promise.reject(new Error('no space left on device')) }
  let target = diskFull
  const positions = new LogPositions({ database, logStore: { write: (...args) => target.write(...args) } })
  await append('line 1')
  positions.set(row, '1')
  await expect(positions.save()).rejects.toThrow('no space left')
  expect(await position()).toBeNull()
  target = logStore
  await positions.save()
  expect(await position()).toBe('1')
  expect(stored()).toContain('line 1')
})
