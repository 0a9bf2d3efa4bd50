import type { Project } from '@berth/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createControlGroup } from '../../packages/server/src/drivers/runtime/process/cgroup.ts'
import { askSteadily } from '../kit/ask-steadily.ts'
import { type BuildName, deployCalmApp, makeBuild, p99 } from '../kit/greedy-builds.ts'
import { type Hosting, startHosting } from '../kit/hosting.ts'
import { describeOnDocker, type RuntimeKind } from '../kit/runtimes.ts'

const probe = createControlGroup(`probe-${process.pid}`, { cpuCores: 1, memoryMb: 64, processes: 16 })
probe?.remove()

const title = 'a build that wants the whole machine'
const isProbed = probe ? '' : ' (skipped: no control groups for this user)'
describe.skipIf(!probe)(`${title}, projects as process${isProbed}`, () => greedyBuilds('process'))
describeOnDocker(title, () => greedyBuilds('docker'))

function greedyBuilds(runtime: RuntimeKind): void {
  let hosting: Hosting
  let host: string
  let modest: Project
  beforeAll(async () => {
    hosting = await startHosting({ runtime })
    host = await deployCalmApp(hosting)
    modest = await makeBuild(hosting, 'does nothing much')
  })
  afterAll(() => hosting?.[Symbol.asyncDispose]())

  test.each<[BuildName, string, string]>([
    ['allocates memory without end', 'build_out_of_memory', '`node greedy.js` used more than the 256 MB that a build may use'],
    ['forks without end', 'build_too_many_processes', '`node greedy.js` started more than 512 processes'],
  ])(
    'one that %s is stopped and says so; a running app’s p99 stays within 1.5 × of what it is during any build',
    async (name, code, message) => {
      const project = await makeBuild(hosting, name)
      await using asking = askSteadily(hosting.berth.edgeUrl, host)
      const ratios: number[] = []
      // Others use this machine as well: the calmest round says what a build does to it.
      for (let round = 0; round < 3 && !(Math.min(...ratios) <= 1.5); round++) {
        const any: number[] = []
        const greedy: number[] = []
        // Turn about, until there are enough for the hundredth part of them to say something.
        while (greedy.length < 1_000) {
          await asking.take()
          await hosting.settled(await hosting.deploy(modest.id))
          any.push(...(await asking.take()))
          const { error } = await hosting.settled(await hosting.deploy(project.id))
          greedy.push(...(await asking.take()))
          expect(error).toMatchObject({ code, message })
        }
        ratios.push(p99(greedy) / p99(any))
      }
      expect(Math.min(...ratios), ratios.join(', ')).toBeLessThanOrEqual(1.5)
    },
  )
}
