import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeNeeding, partOf } from '../../../../../tests/kit/machine.ts'
import { startSshd } from '../../../../../tests/kit/sshd.ts'
import { linksTo } from '../shell/ssh/test-server.ts'
import { readIdentity } from './docker/identity.ts'
import { removeEverythingOf } from './docker/remove-everything.ts'
import { createServerRuntime } from './server/server-runtime.ts'
import { runtimeSuite } from './suite.ts'

describeNeeding(['docker', 'nodeImage', 'sshd'], 'the docker runtime on a server, over SSH', () => {
  runtimeSuite(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'berth-server-'))
    const sshd = await startSshd(partOf('sshd'))
    const { links, link } = linksTo(sshd, partOf('docker'))
    return {
      open: () =>
        createServerRuntime({ link, folder, imageMirror: null, diskPollMs: 1_000, baseImages: { node: partOf('nodeImage') } }),
      noLimits: null,
      async cleanUp() {
        await links.close()
        await sshd[Symbol.asyncDispose]()
        await removeEverythingOf(readIdentity(folder).instance, partOf('docker'))
        await rm(folder, { recursive: true, force: true })
      },
    }
  })
})
