// gate: also on PostgreSQL, since it runs SQL that no other file of the gate runs
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Scene, setScene } from './scene.ts'

let scene: Scene
let moved = 0
// The clock of the database is not moved: schedules are created before the clock of the instance is moved.
beforeEach(async () => {
  moved = 0
  scene = await setScene({ clock: { now: () => new Date(Date.now() + moved) } })
  await scene.fill({ 'a.txt': 'hello', 'folder/b.txt': 'two' })
})
afterEach(() => scene?.end())

const days = 86_400_000
async function pass(ms: number) {
  moved += ms
  scene.instance.database.signals.publish('jobs', { schedules: true })
  await scene.instance.jobs.whenIdle()
}
const policyOf = async (id: string) =>
  (
    await scene.as(scene.people.owner.token, 'GET /projects/:projectId/backup-policies', {
      params: { projectId: scene.projectId },
    })
  ).body.data.find((policy: { id: string }) => policy.id === id)
const unproven = async (policyId: string) =>
  (
    await scene.instance.database.db.selectFrom('announcements').selectAll().where('category', '=', 'backup.unproven').execute()
  ).filter(({ data }) => data.includes(policyId))

test('a periodic trial restores the newest run into a temporary folder, and the run shows when', async () => {
  const { id } = await scene.makePolicy({ proveEveryDays: 7 })
  const run = await scene.backUp(id)
  const volumes = scene.instance.drivers.runtime.volumes.size
  await pass(8 * days)
  expect([(await policyOf(id)).lastProvenAt, (await scene.run(run.id)).proven]).toEqual([expect.any(String), true])
  expect(scene.instance.drivers.runtime.volumes.size).toBe(volumes)
  expect(await unproven(id)).toEqual([])
})

test('a trial over the disk limit of the project (diskMb) is reported, and writes nothing', async () => {
  await scene.fill({ 'large.bin': 'x'.repeat(2 * 1024 * 1024) })
  const { id } = await scene.makePolicy({ proveEveryDays: 7 })
  await scene.backUp(id)
  const { db } = scene.instance.database
  const amounts = { cpuCores: 1, memoryMb: 64, diskMb: 1 }
  const resources = JSON.stringify({ production: amounts, build: amounts })
  await db.updateTable('projects').set({ resources }).where('id', '=', scene.projectId).execute()
  const written: string[] = []
  const { runtime } = scene.instance.drivers
  const write = runtime.writeVolume.bind(runtime)
  runtime.writeVolume = async (volumeId, tar) => {
    written.push(volumeId)
    await write(volumeId, tar)
  }
  await pass(8 * days)
  expect(await unproven(id)).toMatchObject([{ text: expect.stringContaining('disk limit of 1 MB') }])
  expect([written, (await policyOf(id)).lastProvenAt]).toEqual([[], null])
})

test('a run that cannot be restored is reported, and does not count as proven', async () => {
  const { id } = await scene.makePolicy({ proveEveryDays: 7 })
  const run = await scene.backUp(id)
  scene.withStore((store) => ({
    async *get(name, abort) {
      for await (const chunk of store.get(name, abort))
        yield name.includes('manifest') ? chunk : Buffer.from(chunk).fill(7, 0, 30)
    },
  }))
  await pass(8 * days)
  expect([(await policyOf(id)).lastProvenAt, (await scene.run(run.id)).proven]).toEqual([null, false])
  expect((await unproven(id)).length).toBe(1)
})
