import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { partOf } from '../../../../../tests/kit/machine.ts'
import { describeOnSwarm, startSwarm } from '../../../../../tests/kit/swarm.ts'
import { runtimeSuite } from './suite.ts'
import { createSwarmRuntime } from './swarm/swarm-runtime.ts'

describeOnSwarm('the swarm runtime', () => {
  runtimeSuite(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'berth-swarm-'))
    const swarm = await startSwarm()
    const { socketPath } = swarm
    const open = () =>
      createSwarmRuntime({ socketPath, folder, imageMirror: null, diskPollMs: 1_000, baseImages: { node: partOf('nodeImage') } })
    return {
      open,
      noLimits: null,
      async cleanUp() {
        await swarm[Symbol.asyncDispose]()
        await rm(folder, { recursive: true, force: true })
      },
    }
  })
})
