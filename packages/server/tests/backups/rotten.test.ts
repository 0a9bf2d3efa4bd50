// gate: also on PostgreSQL, since it runs SQL that no other file of the gate runs
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type FaultyScene, setFaultyScene } from './faulty-scene.ts'

let scene: FaultyScene
let policyId: string
let folder: string
beforeAll(async () => {
  scene = await setFaultyScene()
  const params = { id: scene.destinationId }
  folder = (await scene.as(scene.people.owner.token, 'GET /backup-destinations/:id', { params })).body.data.config.path
})
afterAll(() => scene?.end())
beforeEach(async () => {
  policyId = (await scene.makePolicy()).id
  await scene.fill({ 'same.txt': `the same of ${policyId}` })
})

const partOf = (runId: string) =>
  join(folder, scene.stored().find((name) => name.includes(runId) && !name.includes('manifest')) as string)

const reported = async (runId: string) =>
  (
    await scene.instance.database.db.selectFrom('announcements').selectAll().where('category', '=', 'backup.unproven').execute()
  ).filter(({ data }) => data.includes(runId))

test.each([
  ['one byte of it is another', (file: string) => writeFileSync(file, flipped(readFileSync(file)))],
  ['it is gone after it was listed', (file: string) => rmSync(file, { force: true })],
])('a part of an earlier run that rotted is not counted on: %s', async (what, rot) => {
  const first = await scene.backUp(policyId)
  const file = partOf(first.id)
  if (what.startsWith('one')) rot(file)
  else
    scene.withStore((store) => ({
      put: (name, content, abort) => {
        // After the check of existing parts, before they are read back.
        if (name.includes('manifest')) rot(file)
        return store.put(name, content, abort)
      },
    }))
  const runId = await scene.start(policyId)
  await scene.instance.jobs.whenIdle()
  await scene.pass(600_000)
  expect(await scene.run(runId)).toMatchObject({ status: 'succeeded', error: null, artifacts: [{ reused: false }] })
  expect(Object.keys(await scene.savedFiles(runId))).toEqual(['same.txt'])
  expect(await reported(first.id)).toHaveLength(1)
})

function flipped(bytes: Buffer): Buffer {
  bytes[bytes.length >> 1]! ^= 1
  return bytes
}
