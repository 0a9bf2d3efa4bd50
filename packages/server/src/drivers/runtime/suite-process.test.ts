import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe } from 'vitest'
import { createProcessRuntime } from './process/process-runtime.ts'
import { createControlGroup } from './process/processes/cgroup.ts'
import { openSandbox } from './process/sandbox/open-sandbox.ts'
import type { IsolationKind } from './process/sandbox/sandbox.ts'
import { systemProgram } from './process/sandbox/system-programs.ts'
import { runtimeSuite } from './suite.ts'

const isRoot = process.getuid?.() === 0
const ways: { kind: IsolationKind; skip: boolean }[] = [
  { kind: 'bubblewrap', skip: systemProgram('bwrap') === null },
  { kind: 'own-users', skip: !isRoot },
  { kind: 'none', skip: isRoot },
]

for (const { kind, skip } of ways)
  describe.skipIf(skip)(`the process runtime, isolation ${kind}`, () => {
    runtimeSuite(async () => {
      const folder = await mkdtemp(join('/tmp', 'berth-process-'))
      const { env: environment } = process
      const sandbox = openSandbox({ folder, dataDir: folder, environment, kinds: [kind] })
      const open = () => createProcessRuntime({ folder, environment, sandbox })
      return {
        open,
        noLimits: canLimit() ? null : 'this user may make no control group',
        async cleanUp() {
          const runtime = open()
          for (const { instanceId } of await runtime.list())
            await runtime.stop(instanceId, { graceSeconds: 0 }, new AbortController().signal)
          await runtime.close()
          await rm(folder, { recursive: true, force: true })
        },
      }
    })
  })

function canLimit(): boolean {
  const group = createControlGroup(`suite-${process.pid}`, { cpuCores: 1, memoryMb: 64, processes: 10 })
  group?.remove()
  return group !== null
}
