// gate: also on PostgreSQL, since it runs SQL that no other file of the gate runs
import { afterAll, beforeAll, expect, test } from 'vitest'
import { tarball } from '../../src/drivers/tarball/hostile-corpus.ts'
import { call } from '../kit/call.ts'
import { makeProject } from '../kit/projects.ts'
import { type Scene, setScene } from './scene.ts'

let scene: Scene
beforeAll(async () => {
  scene = await setScene()
})
afterAll(() => scene.end())

const manifest = JSON.stringify({ name: 'shop', scripts: { start: 'node server.js' } })
const forms = [
  ['the files themselves', ''],
  ['one folder that holds them', 'shop/'],
] as const

test.each(forms)('the scan of an upload matches its deployment: %s', async (_, folder) => {
  const { instance, people } = scene
  const { token } = people.member
  const { sessionId } = (await call(instance, token, 'POST /projects/folder/session', { body: {} })).body.data
  const upload = tarball({ name: `${folder}package.json`, content: manifest }, { name: `${folder}server.js`, content: '1' })
  await instance.app.inject({
    ...{ method: 'POST', url: `/api/projects/folder/upload/${sessionId}`, payload: upload },
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/gzip' },
  })
  const scanned = await call(instance, token, 'POST /projects/folder/scan/:sessionId', { params: { sessionId } })
  expect(scanned.body.data).toMatchObject({ name: 'shop', startCommand: expect.any(String) })
  const { id } = await makeProject(instance, token, { uploadSessionId: sessionId })
  expect(await scene.settled(await scene.deploy(id))).toMatchObject({ status: 'live', error: null })
})

test('a project without stored services shows the lines of the exposed service of its deployment', async () => {
  const { instance, people } = scene
  const { id } = await scene.makeApp()
  const deploymentId = await scene.deploy(id)
  await scene.settled(deploymentId)
  const line = (service: string) => ({ stream: 'stdout' as const, service, deploymentId, message: `from ${service}` })
  await instance.logStore.append(id, 'runtime', [line('db'), line('web')])
  const messages = async (query = {}) =>
    (
      await call(instance, people.viewer.token, 'GET /projects/:id/logs', { params: { id }, query: { q: 'from', ...query } })
    ).body.data.map(({ message }: { message: string }) => message)
  expect(await messages(), 'an app has no service to choose').toEqual(['from db', 'from web'])
  const resources = { cpuCores: 1, memoryMb: 64, diskMb: 64 }
  const unit = { build: null, image: 'any', port: null, volumes: [], dependsOn: [], allotment: resources }
  const units = [
    { ...unit, service: 'db', exposed: false },
    { ...unit, service: 'web', exposed: true },
  ]
  const plan = JSON.stringify({ type: 'services', units })
  await instance.database.db.updateTable('deployments').set({ plan }).where('id', '=', deploymentId).execute()
  expect(await messages()).toEqual(['from web'])
  expect(await messages({ deployment: deploymentId })).toEqual(['from web'])
  expect(await messages({ service: 'db' })).toEqual(['from db'])
})
