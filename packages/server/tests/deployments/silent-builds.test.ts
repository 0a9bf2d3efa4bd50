import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Scene, setScene } from './scene.ts'

let scene: Scene
beforeAll(async () => {
  scene = await setScene({}, { BERTH_BUILD_SILENT_SECONDS: '1' })
})
afterAll(() => scene.end())

test('a build without output is ended, and the deployment says why', async () => {
  scene.instance.drivers.runtime.whileBuilding = (_request, _onLine, abort) =>
    new Promise((_resolve, reject) => abort.addEventListener('abort', () => reject(abort.reason)))
  const { id } = await scene.makeApp()
  const deployment = await scene.settled(await scene.deploy(id))
  expect(deployment).toMatchObject({ status: 'failed', error: { code: 'timed_out' } })
  expect(JSON.stringify(deployment)).toMatch(/wrote no output for 1 s/)
})
