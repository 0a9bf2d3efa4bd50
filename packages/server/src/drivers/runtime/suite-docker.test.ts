import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeNeeding, partOf } from '../../../../../tests/kit/machine.ts'
import { createDockerRuntime } from './docker/docker-runtime.ts'
import { readIdentity } from './docker/identity.ts'
import { removeEverythingOf } from './docker/remove-everything.ts'
import { runtimeSuite } from './suite.ts'

describeNeeding(['docker', 'nodeImage'], 'the docker runtime', () => {
  runtimeSuite(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'berth-docker-'))
    const socketPath = partOf('docker')
    const open = () =>
      createDockerRuntime({ socketPath, folder, imageMirror: null, diskPollMs: 1_000, baseImages: { node: partOf('nodeImage') } })
    return {
      open,
      noLimits: null,
      async cleanUp() {
        await removeEverythingOf(readIdentity(folder).instance, socketPath)
        await rm(folder, { recursive: true, force: true })
      },
    }
  })
})
