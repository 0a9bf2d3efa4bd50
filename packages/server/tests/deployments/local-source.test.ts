// gate: also on PostgreSQL, since it runs SQL that no other file of the gate runs
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { call } from '../kit/call.ts'
import { makePeople } from '../kit/people.ts'
import { makeProject } from '../kit/projects.ts'
import { type Scene, setScene } from './scene.ts'

/** A folder that an operator chose, at the time when a deployment reads it. */
let scene: Scene
let outside: string
beforeAll(async () => {
  scene = await setScene()
  outside = mkdtempSync(join(tmpdir(), 'berth-outside-'))
  writeFileSync(join(outside, 'package.json'), JSON.stringify({ name: 'secret', scripts: { start: 'node server.js' } }))
})
afterAll(async () => {
  await scene.end()
  rmSync(outside, { recursive: true, force: true })
})

test('a member deploys the folder that an operator chose', async () => {
  const { id } = await scene.makeApp()
  expect((await scene.settled(await scene.deploy(id))).status).toBe('live')
})

test('a symlink in place of the folder or of a parent folder is not followed', async () => {
  const above = join(scene.source, '..', 'above')
  mkdirSync(join(above, 'app'), { recursive: true })
  writeFileSync(join(above, 'app', 'package.json'), '{"scripts":{"start":"node server.js"}}')
  mkdirSync(join(outside, 'app'))
  writeFileSync(join(outside, 'app', 'package.json'), '{"scripts":{"start":"node server.js"}}')
  const { id } = await makeProject(scene.instance, scene.people.admin.token, { localPath: join(above, 'app') })
  renameSync(above, `${above}-before`)
  symlinkSync(outside, above)
  const led = await scene.settled(await scene.deploy(id))
  expect([led.status, led.error?.code]).toEqual(['failed', 'source_failed'])
  rmSync(above)
  mkdirSync(above)
  symlinkSync(outside, join(above, 'app'))
  const swapped = await scene.settled(await scene.deploy(id))
  expect([swapped.status, swapped.error?.code]).toEqual(['failed', 'source_failed'])
  expect(readdirSync(outside).sort(), 'nothing was touched').toEqual(['app', 'package.json'])
})

test('an upload opened for one project cannot be the source of another', async () => {
  const { instance, people } = scene
  const [mine, other] = [await scene.makeApp(), await scene.makeApp()]
  const { owner } = people
  const opened = await call(instance, owner.token, 'POST /projects/folder/session', { body: { projectId: mine.id } })
  const uploadSessionId = opened.body.data.sessionId
  await instance.database.db.updateTable('uploadSessions').set({ status: 'received' }).where('id', '=', uploadSessionId).execute()
  const build = (projectId: string) =>
    call(instance, owner.token, 'POST /deployments/build/access', { body: { projectId, uploadSessionId } })
  expect((await build(other.id)).body).toMatchObject({ code: 'not_found', field: 'uploadSessionId' })
  const update = (id: string) => call(instance, owner.token, 'PATCH /projects/:id', { params: { id }, body: { uploadSessionId } })
  expect((await update(other.id)).body).toMatchObject({ code: 'not_found', field: 'uploadSessionId' })
  expect((await call(instance, owner.token, 'POST /projects', { body: { name: 'x', uploadSessionId } })).status).toBe(404)
  expect((await update(mine.id)).status).toBe(200)
  const outsider = await makePeople(instance)
  const foreign = { body: { projectId: mine.id } }
  expect((await call(instance, outsider.owner.token, 'POST /projects/folder/session', foreign)).status).toBe(404)
})
