// gate: also on Docker, since the engine enforces memory, CPU and processes
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createControlGroup } from '../../packages/server/src/drivers/runtime/process/processes/cgroup.ts'
import { type BuildName, deployCalmApp, makeBuild } from '../kit/greedy-builds.ts'
import { type Hosting, keepRequesting, startHosting } from '../kit/hosting.ts'
import { describeOnRuntimes } from '../kit/runtimes.ts'

/** The effect of such a build on the response times of another app is measured by bench/greedy-builds.ts, which has the limit. */
describeOnRuntimes('a build over its limits', (runtime) => {
  let hosting: Hosting
  let host: string
  beforeAll(async () => {
    hosting = await startHosting({ runtime })
    host = await deployCalmApp(hosting)
  })
  afterAll(() => hosting?.[Symbol.asyncDispose]())

  test.for<[BuildName, string, string]>([
    ['allocates memory without end', 'build_out_of_memory', '`node greedy.js` exceeded the build memory limit of 256 MB'],
    ['forks without end', 'build_too_many_processes', '`node greedy.js` started more than 512 processes'],
  ])('a build that %s is stopped with an error; a running app answers all the time', async ([name, code, message], { skip }) => {
    if (runtime === 'process' && !hasControlGroups()) skip('no control groups for this user')
    const project = await makeBuild(hosting, name)
    const requesting = keepRequesting(hosting.berth.edgeUrl, host, { connections: 1, everyMs: 5 })
    const { error } = await hosting.settled(await hosting.deploy(project.id))
    expect(error).toMatchObject({ code, message })
    expect((await requesting.stop()).failures).toEqual([])
    // The number depends on the machine and on how soon the build is stopped.
    expect(requesting.load.requests).toBeGreaterThan(0)
  })
})

function hasControlGroups(): boolean {
  const probe = createControlGroup(`probe-${process.pid}`, { cpuCores: 1, memoryMb: 64, processes: 16 })
  probe?.remove()
  return probe !== null
}
