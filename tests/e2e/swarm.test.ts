import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deployUnderLoad, problemsOf } from '../kit/deploy-mix.ts'
import { type Hosting, startHosting } from '../kit/hosting.ts'
import { partOf } from '../kit/machine.ts'
import { startBerth } from '../kit/start-berth.ts'
import { describeOnSwarm, startSwarm, swarmSettings, type TestSwarm } from '../kit/swarm.ts'

describeOnSwarm('an instance with BERTH_RUNTIME=swarm', () => {
  let swarm: TestSwarm
  let hosting: Hosting
  beforeAll(async () => {
    swarm = await startSwarm()
    hosting = await startHosting({ env: swarmSettings(swarm) })
  })
  afterAll(async () => {
    await hosting?.[Symbol.asyncDispose]()
    await swarm?.[Symbol.asyncDispose]()
  })

  test('good and bad deployments under constant load fail no request, and the previous version serves after a bad one', async () => {
    const result = await deployUnderLoad(hosting, 6, { everyMs: 5 })
    expect(problemsOf(result)).toEqual([])
    expect(result.load.failures).toEqual([])
  })

  test('a Compose project and a template are refused with what to do', async () => {
    const localPath = join(hosting.folder, 'compose')
    await mkdir(localPath)
    await writeFile(join(localPath, 'compose.yaml'), `services: { web: { image: '${partOf('nodeImage')}', ports: ['3000'] } }\n`)
    const project = await hosting.makeProject({ name: 'compose', localPath })
    const failed = await hosting.settled(await hosting.deploy(project.id))
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'plan_failed' } })
    expect(failed.error?.message).toContain('Set BERTH_RUNTIME to docker')
    const added = await hosting.api('POST', '/catalogue/redis', {})
    expect(added).toMatchObject({ status: 409 })
    expect(added.body.error).toContain('Set BERTH_RUNTIME to docker')
  })

  test('an engine without a swarm, and cloud mode, stop the start with the reason', async () => {
    const start = (env: NodeJS.ProcessEnv) => startBerth({ env: { ...swarmSettings(swarm), ...env } }).catch(String)
    expect(await start({ BERTH_DOCKER_SOCKET: partOf('docker') })).toContain('docker swarm init')
    expect(await start({ BERTH_MODE: 'cloud' })).toContain('BERTH_RUNTIME is "swarm", but')
  })
})
