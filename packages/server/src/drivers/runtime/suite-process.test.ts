import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe } from 'vitest'
import { createControlGroup } from './process/cgroup.ts'
import { createProcessRuntime } from './process/process-runtime.ts'
import { runtimeSuite } from './suite.ts'

describe('the process runtime', () => {
  runtimeSuite(async () => {
    const folder = await mkdtemp(join('/tmp', 'berth-process-'))
    const open = () => createProcessRuntime({ folder, environment: process.env })
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
