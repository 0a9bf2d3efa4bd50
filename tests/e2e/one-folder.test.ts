import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Hosting, startHosting, writeApp } from '../kit/hosting.ts'
import { tempFolder } from '../kit/temp-folder.ts'

const keeping = `
import { createServer } from 'node:http'
import { appendFileSync, readFileSync } from 'node:fs'
const file = process.env.BERTH_VOLUME_MY_DATA + '/starts'
appendFileSync(file, 'VERSION\\n')
createServer((_, response) => response.end(readFileSync(file))).listen(process.env.PORT, process.env.HOST)
`

/** A single folder holds an instance: contract, section 9. */
describe.each(['auto', 'own-users'])('a copy of the stopped data folder, started at another path (isolation %s)', (isolation) => {
  test.skipIf(isolation === 'own-users' && process.getuid?.() !== 0)(
    'is the same instance: volumes, pages and rollback targets',
    async () => {
      await using first = await tempFolder('first')
      await using second = await tempFolder('second')
      const env = { BERTH_ISOLATION: isolation }
      const [from, to] = [join(first.path, 'data'), join(second.path, 'elsewhere')]
      let slugs: { app: string; pages: string; appId: string; old: string }
      {
        await using hosting = await startHosting({ env, dataFolder: from })
        const { app, old } = await deployTwice(hosting)
        const pages = await hosting.makeProject({
          name: 'Pages',
          gitProvider: 'local',
          localPath: await hosting.copyExample('static'),
        })
        await hosting.settled(await hosting.deploy(pages.id))
        expect((await hosting.get(`${pages.slug}.localhost`)).status).toBe(200)
        slugs = { app: app.slug, pages: pages.slug, appId: app.id, old }
        expect((await hosting.get(`${app.slug}.localhost`)).text).toBe('one\ntwo\n')
        await hosting.berth.stop()
        execFileSync('/bin/cp', ['-a', from, to])
      }
      await using hosting = await startHosting({ env, dataFolder: to })
      expect((await hosting.get(`${slugs.app}.localhost`)).text).toBe('one\ntwo\ntwo\n')
      expect((await hosting.get(`${slugs.pages}.localhost`)).status).toBe(200)
      const { body } = await hosting.api('POST', `/deployments/${slugs.old}/rollback`)
      expect((await hosting.settled(body.data.deploymentId)).status).toBe('live')
      expect((await hosting.get(`${slugs.app}.localhost`)).text).toBe('one\ntwo\ntwo\none\n')
    },
  )
})

async function deployTwice(hosting: Hosting) {
  const folder = join(hosting.folder, 'keeper')
  await writeApp(folder, keeping.replace('VERSION', 'one'))
  const volumes = [{ name: 'my-data', mountPath: '/data' }]
  const app = await hosting.makeProject({ name: 'Keeper', gitProvider: 'local', localPath: folder, volumes })
  const old = await hosting.deploy(app.id)
  expect((await hosting.settled(old)).error).toBeNull()
  await writeApp(folder, keeping.replace('VERSION', 'two'))
  expect((await hosting.settled(await hosting.deploy(app.id))).error).toBeNull()
  return { app, old }
}
