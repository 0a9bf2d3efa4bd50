// gate: also on PostgreSQL, since it runs SQL that no other file of the gate runs
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Scene, setScene, tarOf } from './scene.ts'

/** Restores that are ended from outside while they write: the project is free afterwards, with its old data. */

let scene: Scene
let runId: string
const before = { 'a.txt': 'as it was' }
const after = { 'a.txt': 'changed since' }
beforeEach(async () => {
  scene = await setScene()
  await scene.fill(before)
  runId = (await scene.backUp((await scene.makePolicy()).id)).id
  await scene.fill(after)
})
afterEach(() => scene?.end())

const as = (at: `${string} /${string}`, input: object = {}) => scene.as(scene.people.owner.token, at, input)
const idle = () => scene.instance.jobs.whenIdle()
const project = async () => (await as('GET /projects/:id', { params: { id: scene.projectId } })).body
const volume = () => Buffer.from(scene.instance.drivers.runtime.volumes.get(scene.volumeId) ?? [])
const operations = () => scene.instance.database.db.selectFrom('projectOperations').select(['kind', 'phase']).execute()

/** Applies the run, and resolves when its first volume was written and the write goes on until it is aborted. */
async function writing(): Promise<string> {
  const { runtime } = scene.instance.drivers
  const { body } = await as('POST /backup-runs/:runId/restore/prepare', { params: { runId } })
  const { restoreId, confirmationToken } = body.data
  await idle()
  const begun = Promise.withResolvers<void>()
  const write = runtime.writeVolume.bind(runtime)
  let writes = 0
  runtime.writeVolume = async (id, tar, abort?: AbortSignal) => {
    writes += 1
    await write(id, tar)
    if (writes > 1) return
    begun.resolve()
    await new Promise((_, reject) => abort?.addEventListener('abort', () => reject(abort.reason)))
  }
  await as('POST /backup-restores/:restoreId/apply', { params: { restoreId }, body: { confirmationToken } })
  await begun.promise
  return restoreId
}

test('a cancelled restore ends with the old data, also if the project does not start again', async () => {
  const restoreId = await writing()
  const { runtime } = scene.instance.drivers
  const start = runtime.start.bind(runtime)
  runtime.start = () => Promise.reject(new Error('it crashed'))
  await as('POST /backup-restores/:restoreId/cancel', { params: { restoreId } })
  await idle()
  expect(await scene.restore(restoreId)).toMatchObject({ status: 'cancelled', dataState: 'undone' })
  expect(volume()).toEqual(await tarOf(after))
  expect(await operations()).toEqual([])
  runtime.start = start
  expect((await scene.settled(await scene.deploy(scene.projectId))).status).toBe('live')
})

test('a restore without attempts left ends with the old data, and the project serves', async () => {
  const restoreId = await writing()
  const { db } = scene.instance.database
  // The state left by a process that died in the last attempt.
  await db
    .updateTable('jobs')
    .set({ status: 'queued', leaseToken: null, leaseUntil: null, failure: 'the process died', attempts: 3 })
    .where('status', '=', 'running')
    .where('kind', '=', 'backups.apply')
    .execute()
  scene.instance.database.signals.publish('jobs', { due: true })
  await vi.waitFor(async () => expect((await scene.restore(restoreId)).finishedAt).not.toBeNull(), 10_000)
  expect(await scene.restore(restoreId)).toMatchObject({ status: 'server_error', dataState: 'undone' })
  expect(volume()).toEqual(await tarOf(after))
  expect(await operations()).toEqual([])
  expect((await project()).data.status).toBe('live')
})

test('a restore of a project that is deleted by force with its volumes leaves no volume', async () => {
  await writing()
  const params = { id: scene.projectId }
  const { status } = await as('DELETE /projects/:id', { params, query: { force: true, deleteVolumes: true } })
  expect(status).toBe(200)
  await idle()
  const { db } = scene.instance.database
  expect(await db.selectFrom('volumes').select('id').where('projectId', '=', scene.projectId).execute()).toEqual([])
  expect([...scene.instance.drivers.runtime.volumes.keys()]).toEqual([])
  expect(await operations()).toEqual([])
})
