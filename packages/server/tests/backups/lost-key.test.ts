// gate: also on PostgreSQL, since it runs SQL that no other file of the gate runs
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openArchives } from '../../src/instance/backup-key.ts'
import { createLogger } from '../../src/instance/logger.ts'
import { createScrubber } from '../../src/platform/secrets/scrubber.ts'
import { call } from '../kit/call.ts'
import { type Scene, setScene } from './scene.ts'

let scene: Scene
let runId: string
let keyFile: string
let lines: string[]
let planes: { jobs: Scene['instance']['jobs'] }[]
beforeEach(async () => {
  scene = await setScene()
  planes = []
  lines = []
  keyFile = join(scene.instance.drivers.workFolder, 'backup.key')
  await scene.fill({ 'a.txt': 'as it was' })
  runId = (await scene.backUp((await scene.makePolicy()).id)).id
})
afterEach(async () => {
  for (const { jobs } of planes) await jobs.stop({ graceMs: 1_000 })
  await scene?.end()
})

/** Another process on the same folder and database; the previous one has exited. */
async function restart() {
  const { instance } = scene
  for (const { jobs } of [instance, ...planes]) await jobs.stop({ graceMs: 1_000 })
  lines = []
  const output = { write: (line: string) => void lines.push(line) }
  const logger = await createLogger({ level: 'warn', scrubber: createScrubber(), format: 'json', output })
  const drivers = { ...instance.drivers, archives: openArchives(keyFile, logger, 64 * 1024) }
  const plane = instance.another({ logger, drivers })
  planes.push(plane)
  await plane.running?.modules.backups.start()
  await plane.jobs.start()
  await plane.jobs.whenIdle()
  return { ...instance, ...plane }
}

const reported = () =>
  scene.instance.database.db
    .selectFrom('announcements')
    .select(['subject', 'text', 'organizationId'])
    .where('category', '=', 'backup.unproven')
    .execute()

/** The result of reading the archive. */
async function verified(plane: Awaited<ReturnType<typeof restart>>) {
  const { token } = scene.people.owner
  const params = { runId }
  const { body } = await call(plane, token, 'POST /backup-runs/:runId/restore/prepare', { params })
  await plane.jobs.whenIdle()
  const { restoreId } = body.data
  return (await call(plane, token, 'GET /backup-restores/:restoreId', { params: { restoreId } })).body.data
}

test('a lost key is reported at the next start, in the log and by notification, and each restore says how to put it back', async () => {
  const copy = readFileSync(keyFile, 'utf8')
  rmSync(keyFile)
  const plane = await restart()
  expect(lines.join('')).toContain('1 stored backup cannot be restored: the key that decrypts it is missing')
  expect(await reported()).toEqual([
    {
      subject: 'Stored backups cannot be decrypted: their key is missing',
      text: expect.stringContaining('backup.key'),
      organizationId: scene.people.organizationId,
    },
  ])
  expect(await verified(plane)).toMatchObject({ status: 'failed', error: { code: 'key_lost' } })
  expect(readFileSync(keyFile, 'utf8')).not.toContain(keyIn(copy))

  await restart()
  expect(lines.join('')).toContain('1 stored backup cannot be restored: the key that decrypts it is missing')

  appendFileSync(keyFile, copy)
  const again = await restart()
  expect(lines.join('')).not.toContain('The key that opens')
  expect(await verified(again)).toMatchObject({ verification: { status: 'passed' } })
})

test('a run of a version that did not record its key is recognised as lost too', async () => {
  await scene.instance.database.db.updateTable('backupRuns').set({ recipient: null }).execute()
  rmSync(keyFile)
  await restart()
  expect(await verified(await restart())).toMatchObject({ status: 'failed', error: { code: 'key_lost' } })
})

test('users are notified on every day that backups cannot be opened', async () => {
  rmSync(keyFile)
  const { jobs, database } = await restart()
  await database.db.updateTable('schedules').set({ nextRunAt: Date.now() }).where('key', '=', 'backups.key').execute()
  database.signals.publish('jobs', { schedules: true })
  await expect.poll(async () => (await reported()).length).toBe(2)
  await jobs.whenIdle()
})

test('a key that is deleted while the instance runs is written again before it is used for encryption', async () => {
  const copy = readFileSync(keyFile, 'utf8')
  rmSync(keyFile)
  const { id } = await scene.backUp((await scene.makePolicy()).id)
  expect((await scene.run(id)).status).toBe('succeeded')
  expect(keyIn(readFileSync(keyFile, 'utf8'))).toBe(keyIn(copy))
  await restart()
  expect(await reported()).toEqual([])
})

test('a key file without a key fails the run with a message, and does not prevent the start of the instance', async () => {
  writeFileSync(keyFile, 'not a key\n')
  await restart()
  expect(lines.join('')).toContain('contains no age key')
})

const keyIn = (text: string) => /^AGE-SECRET-KEY-1\w+$/m.exec(text)?.[0] ?? 'none'
