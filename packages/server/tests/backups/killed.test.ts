// gate: also on PostgreSQL, since jobs of a dead process come back when their lease ends
import { createHash, randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type { ArchiveIndex } from '../../src/drivers/archive/archive.ts'
import { stepLength } from '../kit/before-sql.ts'
import { hasRequestedJobs } from '../kit/requested-jobs.ts'
import { type FaultyScene, schedulesOfBackups, setFaultyScene } from './faulty-scene.ts'
import { Killable } from './killable.ts'
import { tarOf } from './scene.ts'

// Some hundred lives each: this takes long on a busy machine.
vi.setConfig({ testTimeout: 600_000 })

/** Every step is tried exactly once: each test continues until the work ends before its step is reached. */

let scene: FaultyScene
let killable: Killable
let policyId: string
let files: Record<string, string>
let heard: string[] = []
const kept = randomBytes(50_000).toString('hex')

beforeAll(async () => {
  scene = await setFaultyScene()
  policyId = (await scene.makePolicy({ preCommand: 'freeze', postCommand: 'thaw', retainCount: 1 })).id
  await scene.instance.jobs.stop({ graceMs: 1_000 })
  killable = new Killable(scene.instance)
  killable.keptSchedules = schedulesOfBackups
  killable.inside = async ({ argv }) => {
    heard.push(argv.join(' '))
    return { exitCode: 0, stderrTail: '' }
  }
})
afterAll(async () => {
  await killable?.end()
  await scene?.end()
})

async function change(): Promise<void> {
  files = { 'kept.bin': kept, 'new.txt': randomBytes(2_000).toString('hex') }
  await scene.fill(files)
  heard = []
}

/** Another process takes over, and time passes, until no work is left. */
async function takeOver(): Promise<void> {
  const life = await killable.start()
  for (let round = 0; round === 0 || (round < 3 && (await hasRequestedJobs(scene.instance.database))); round += 1) {
    await life.plane.jobs.whenIdle()
    await scene.pass(3_600_000, life.plane.jobs)
  }
  await killable.end()
}

const hashesOf = (content: Record<string, string>) =>
  Object.fromEntries(Object.entries(content).map(([name, text]) => [name, createHash('sha256').update(text).digest('hex')]))

const db = () => scene.instance.database.db
const owner = () => scene.people.owner.token
const volume = () => Buffer.from(scene.instance.drivers.runtime.volumes.get(scene.volumeId) ?? [])

/** Every file at the destination belongs to a run that is kept. */
async function expectNothingLeft(what: string): Promise<void> {
  const rows = await db()
    .selectFrom('backupRuns')
    .leftJoin('backupArtifacts', 'backupArtifacts.runId', 'backupRuns.id')
    .select(['backupRuns.manifestName', 'backupArtifacts.index'])
    .where('backupRuns.status', '=', 'succeeded')
    .where('backupRuns.prunedAt', 'is', null)
    .execute()
  const named = rows.flatMap(({ manifestName, index }) => [
    manifestName,
    ...(index ? (JSON.parse(index) as ArchiveIndex).parts.map(({ name }) => name) : []),
  ])
  expect(
    scene.stored().filter((name) => !named.includes(name)),
    what,
  ).toEqual([])
}

test('kill -9 at every step of a run: the resumed run succeeds completely, the post-command ran, and no partial data is left', async () => {
  for (let at = 0, end = ''; end !== 'idle'; at += stepLength) {
    await change()
    const life = await killable.start(at)
    const runId = await scene.start(policyId)
    end = await killable.idle(life)
    await takeOver()
    const run = await scene.run(runId)
    const what = `killed at step ${at}`
    expect([run.status, run.error], what).toEqual(['succeeded', null])
    expect(await scene.savedFiles(runId), what).toEqual(hashesOf(files))
    // Never frozen twice, nor left frozen.
    expect(heard.join(' '), what).toMatch(/^(thaw )*(freeze thaw( |$)(thaw( |$))*)+$/)
    await expectNothingLeft(what)
  }
})

test('kill -9 at every step of a run that fails: it stays failed, the post-command ran, and no partial data is left', async () => {
  for (let at = 0, end = ''; end !== 'idle'; at += stepLength) {
    await change()
    scene.place.arm({ fault: 'full', on: 'put', name: /manifest/ })
    const life = await killable.start(at)
    const runId = await scene.start(policyId)
    end = await killable.idle(life)
    await takeOver()
    scene.place.disarm()
    const what = `killed at step ${at}`
    expect(await scene.run(runId), what).toMatchObject({ status: 'failed', error: { code: 'destination_full' }, artifacts: [] })
    expect(heard.join(' '), what).toMatch(/^(thaw )*(freeze thaw( |$)(thaw( |$))*)+$/)
    await expectNothingLeft(what)
  }
})

test('a run cancelled at any step ends as cancelled, leaves nothing, and the post-command ran', async () => {
  for (let at = 0, end = ''; end !== 'over'; at += stepLength) {
    await change()
    end = 'over'
    const started = Promise.withResolvers<string>()
    const life = await killable.start(at, async () => {
      const params = { runId: await started.promise }
      const { status } = await scene.as(owner(), 'POST /backup-runs/:runId/cancel', { params })
      end = status === 200 ? 'cancelled' : 'over'
    })
    const runId = await scene.start(policyId)
    started.resolve(runId)
    await life.plane.jobs.whenIdle()
    await scene.pass(3_600_000, life.plane.jobs)
    await life.plane.jobs.whenIdle()
    const what = `cancelled at step ${at}`
    expect((await scene.run(runId)).status, what).toBe(end === 'over' ? 'succeeded' : 'cancelled')
    expect(heard.join(' '), what).toMatch(/^(freeze thaw( |$)(thaw( |$))*)?$/)
    await expectNothingLeft(what)
  }
})

describe('a restore', () => {
  const old = { 'a.txt': 'as it was', 'b.txt': randomBytes(200_000).toString('hex') }
  const now = { 'a.txt': 'changed since' }
  let runId: string
  beforeAll(async () => {
    await scene.fill(old)
    await killable.start()
    runId = await scene.start(policyId)
    await takeOver()
    await scene.as(owner(), 'POST /backup-runs/:runId/protect', { params: { runId } })
  })
  afterEach(() => {
    scene.instance.drivers.runtime.isHealthy = true
  })

  async function apply(): Promise<string> {
    const prepared = await killable.asPerson(() =>
      scene.as(owner(), 'POST /backup-runs/:runId/restore/prepare', { params: { runId } }),
    )
    const { restoreId, confirmationToken } = prepared.body.data
    const answer = await scene.as(owner(), 'POST /backup-restores/:restoreId/apply', {
      params: { restoreId },
      body: { confirmationToken },
    })
    expect(answer.status).toBe(202)
    return restoreId
  }

  test('that is killed at any step is applied in the end', async () => {
    for (let at = 0, end = ''; end !== 'idle'; at += stepLength) {
      await scene.fill(now)
      const life = await killable.start(at)
      const restoreId = await apply()
      end = await killable.idle(life)
      await takeOver()
      const what = `killed at step ${at}`
      expect(await scene.restore(restoreId), what).toMatchObject({ status: 'succeeded', dataState: 'restored', error: null })
      expect(volume().equals(await tarOf(old)), what).toBe(true)
    }
  })

  test('that is cancelled at any step reports the state of the data correctly', async () => {
    for (let at = 0, end = ''; end !== 'over'; at += stepLength) {
      await scene.fill(now)
      end = 'over'
      const applied = Promise.withResolvers<string>()
      const life = await killable.start(at, async () => {
        const params = { restoreId: await applied.promise }
        const { status } = await scene.as(owner(), 'POST /backup-restores/:restoreId/cancel', { params })
        end = status === 200 ? 'cancelled' : 'over'
      })
      const restoreId = await apply()
      applied.resolve(restoreId)
      await life.plane.jobs.whenIdle()
      await scene.pass(3_600_000, life.plane.jobs)
      const restore = await scene.restore(restoreId)
      const what = `cancelled at step ${at}: ${restore.dataState}`
      if (end === 'over') expect(restore, what).toMatchObject({ status: 'succeeded', dataState: 'restored' })
      else expect([restore.status, ['untouched', 'undone'].includes(restore.dataState)], what).toEqual(['cancelled', true])
      expect(volume().equals(await tarOf(end === 'over' ? old : now)), what).toBe(true)
      if (restore.preRestoreRunId)
        expect(await scene.run(restore.preRestoreRunId), what).toMatchObject({ finishedAt: expect.any(String) })
    }
    const { db } = scene.instance.database
    const underWay = db.selectFrom('backupRuns').select('id').where('finishedAt', 'is', null)
    expect(await underWay.execute()).toEqual([])
  })
})
