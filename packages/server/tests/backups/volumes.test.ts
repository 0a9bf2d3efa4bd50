import type { BackupRestore, StoredVolume } from '@berth/contract'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type Scene, setScene, tarOf } from './scene.ts'

let scene: Scene
let policyId: string
beforeAll(async () => {
  scene = await setScene()
  await scene.fill({ 'a.txt': 'kept' })
  policyId = (await scene.makePolicy()).id
})
afterAll(() => scene?.end())
afterEach(() => {
  delete (scene.instance.drivers.runtime as { writeVolume?: unknown }).writeVolume
})

const owner = () => scene.people.owner.token
const list = async (token = owner()): Promise<StoredVolume[]> =>
  (await scene.as(token, 'GET /projects/:id/volumes', { params: { id: scene.projectId } })).body.data
const remove = (volumeId: string, token = owner()) =>
  scene.as(token, 'DELETE /projects/:id/volumes/:volumeId', { params: { id: scene.projectId, volumeId } })
const begin = async (runId: string): Promise<string> => {
  const params = { runId }
  const { data } = (await scene.as(owner(), 'POST /backup-runs/:runId/restore/prepare', { params, body: { target: 'copy' } }))
    .body
  const { restoreId, confirmationToken } = data
  await scene.as(owner(), 'POST /backup-restores/:restoreId/apply', { params: { restoreId }, body: { confirmationToken } })
  return restoreId
}
const copied = async (): Promise<{ restore: BackupRestore; runId: string }> => {
  const { id: runId } = await scene.backUp(policyId)
  const restoreId = await begin(runId)
  await scene.instance.jobs.whenIdle()
  return { restore: await scene.restore(restoreId), runId }
}

test('GET /projects/:id/volumes: volumes of the project with their mount path, and copies with the run they come from', async () => {
  const { restore, runId } = await copied()
  const [copy] = restore.volumes
  const own = { id: scene.volumeId, name: 'data', environment: 'production', mountPath: '/data', restoredFrom: null }
  const other = { ...copy, environment: 'production', mountPath: null, restoredFrom: runId }
  expect(await list(scene.people.viewer.token)).toEqual([own, other].map((one) => ({ ...one, sizeBytes: expect.any(Number) })))
  await remove(copy!.id)
})
test('the setting "all" of a policy excludes copies; a copy that a policy names or the project mounts is saved', async () => {
  const { restore } = await copied()
  const [copy] = restore.volumes
  expect((await scene.backUp(policyId)).artifacts.map(({ name }) => name)).toEqual(['data'])
  const named = await scene.makePolicy({ payload: { volumes: [copy!.name] } })
  expect((await scene.backUp(named.id)).artifacts.map(({ name }) => name)).toEqual([copy!.name])
  await remove(copy!.id)
})
test('all copies together are limited to the disk limit of the project (diskMb); a copy beyond it fails and leaves nothing', async () => {
  const { db } = scene.instance.database
  const project = db.selectFrom('projects').select('resources').where('id', '=', scene.projectId)
  const { resources } = await project.executeTakeFirstOrThrow()
  const limit = (text: string) => db.updateTable('projects').set({ resources: text }).where('id', '=', scene.projectId).execute()
  const sides = JSON.parse(resources)
  await limit(JSON.stringify({ ...sides, production: { ...sides.production, diskMb: 3 } }))
  await scene.fill({ 'large.bin': 'x'.repeat(2 * 1024 * 1024) })
  const first = await copied()
  expect(first.restore.status).toBe('succeeded')
  const before = (await list()).length
  const second = await copied()
  expect(second.restore).toMatchObject({
    status: 'failed',
    error: { code: 'disk_limit', message: expect.stringContaining('3 MB') },
  })
  expect(await list()).toHaveLength(before)
  await remove(first.restore.volumes[0]!.id)
  expect((await copied()).restore.status).toBe('succeeded')
  for (const { id, restoredFrom } of await list()) if (restoredFrom) await remove(id)
  await scene.fill({ 'a.txt': 'kept' })
  await limit(resources)
})
test('DELETE: 204 for a volume that is not mounted, and its data is removed; then 404', async () => {
  const { restore } = await copied()
  const [copy] = restore.volumes
  expect(scene.instance.drivers.runtime.volumes.has(copy!.id)).toBe(true)
  expect((await remove(copy!.id, scene.people.member.token)).status).toBe(403)
  expect((await remove(copy!.id)).status).toBe(204)
  expect(scene.instance.drivers.runtime.volumes.has(copy!.id)).toBe(false)
  expect((await remove(copy!.id)).status).toBe(404)
})
test('DELETE: the record is removed before the data; data that cannot be removed now is removed later', async () => {
  const { restore } = await copied()
  const [copy] = restore.volumes
  const { runtime } = scene.instance.drivers
  const whole = runtime.removeVolume
  let listed: string[] = []
  runtime.removeVolume = async () => {
    listed = (await list()).map(({ id }) => id)
    throw new Error('the server is unreachable')
  }
  expect((await remove(copy!.id)).status).toBe(204)
  expect(listed).toEqual([scene.volumeId])
  runtime.removeVolume = whole
  expect(runtime.volumes.has(copy!.id)).toBe(true)
  const { db, signals } = scene.instance.database
  await db.updateTable('jobs').set({ runAt: 0 }).where('kind', '=', 'deployments.remove-volume').execute()
  signals.publish('jobs', { due: true })
  await expect.poll(() => runtime.volumes.has(copy!.id)).toBe(false)
})
test('DELETE: 409 for a mounted volume, and its data stays', async () => {
  const { status, body } = await remove(scene.volumeId)
  expect([status, body.code, body.error]).toEqual([409, 'conflict', expect.stringContaining('/data')])
  expect((await list()).map(({ id }) => id)).toContain(scene.volumeId)
})
test.each(['failed', 'cancelled'])('a restore to a copy that %s leaves no partial volume', async (status) => {
  const { id: runId } = await scene.backUp(policyId)
  const { runtime } = scene.instance.drivers
  const begun = Promise.withResolvers<void>()
  runtime.writeVolume = async (id, _tar, abort?: AbortSignal) => {
    runtime.volumes.set(id, await tarOf({ half: 'written' }))
    begun.resolve()
    if (status === 'failed')
      throw new (await import('../../src/drivers/runtime/runtime-errors.ts')).StartFailed('The disk is full')
    await new Promise((_, reject) => abort?.addEventListener('abort', () => reject(abort.reason)))
  }
  const restoreId = await begin(runId)
  await begun.promise
  if (status === 'cancelled') await scene.as(owner(), 'POST /backup-restores/:restoreId/cancel', { params: { restoreId } })
  await scene.instance.jobs.whenIdle()
  expect(await scene.restore(restoreId)).toMatchObject({ status, dataState: 'untouched', volumes: [] })
  expect((await list()).map(({ name }) => name)).toEqual(['data'])
  expect([...runtime.volumes.keys()]).toEqual([scene.volumeId])
})
