import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createControlGroup } from '../../packages/server/src/drivers/runtime/process/cgroup.ts'
import { type Hosting, isOver, serving, startHosting, writeApp } from '../kit/hosting.ts'
import { describeOnDocker, type RuntimeKind } from '../kit/runtimes.ts'

/** Goes on after every refused fork. */
const forks = `
import { spawn } from 'node:child_process'
process.on('uncaughtException', () => {})
setInterval(() => { for (let at = 0; at < 20; at++) spawn('sleep', ['600']).on('error', () => {}) }, 1)
`
const allocates = `const all = []; setInterval(() => all.push(Buffer.alloc(8 * 1024 * 1024, 1)), 5)`

const probe = createControlGroup(`probe-${process.pid}`, { cpuCores: 1, memoryMb: 64, processes: 16 })
probe?.remove()

const title = 'a build that wants the whole machine'
const isProbed = probe ? '' : ' (skipped: no control groups for this user)'
describe.skipIf(!probe)(`${title}, projects as process${isProbed}`, () => greedyBuilds('process'))
describeOnDocker(title, () => greedyBuilds('docker'))

function greedyBuilds(runtime: RuntimeKind): void {
  let hosting: Hosting
  let host: string
  beforeAll(async () => {
    hosting = await startHosting({ runtime })
    await writeApp(join(hosting.folder, 'calm'), serving('calm'))
    const calm = await hosting.makeProject({ name: 'calm', localPath: join(hosting.folder, 'calm') })
    expect(await hosting.settled(await hosting.deploy(calm.id))).toMatchObject({ status: 'live' })
    host = `${calm.slug}.localhost`
  })
  afterAll(() => hosting?.[Symbol.asyncDispose]())

  const greedy = async (name: string, source: string) => {
    const folder = join(hosting.folder, name)
    await writeApp(folder, serving(name))
    await writeFile(join(folder, 'greedy.js'), source)
    const project = await hosting.makeProject({ name, localPath: folder, buildCommand: 'node greedy.js' })
    const build = { cpuCores: 1, memoryMb: 256, diskMb: 1024 }
    expect((await hosting.api('PATCH', `/projects/${project.id}/resources`, { build })).status).toBe(200)
    return project
  }

  async function p99While(isOn: () => boolean): Promise<{ p99Ms: number; count: number }> {
    const tookMs: number[] = []
    while (isOn()) {
      const begun = performance.now()
      expect((await hosting.get(host)).status).toBe(200)
      tookMs.push(performance.now() - begun)
      await pause(2)
    }
    tookMs.sort((a, b) => a - b)
    return { p99Ms: tookMs[Math.floor(tookMs.length * 0.99)] ?? 0, count: tookMs.length }
  }

  test.each([
    ['allocates memory', allocates, 'build_out_of_memory', '`node greedy.js` used more than the 256 MB that a build may use'],
    ['forks', forks, 'build_too_many_processes', '`node greedy.js` started more than 512 processes'],
  ])(
    'one that %s without end is stopped and says so; a running app’s p99 stays within 1.5 ×',
    async (name, source, code, message) => {
      const project = await greedy(`greedy ${name}`.replaceAll(' ', '-'), source)
      const ratios: number[] = []
      for (let round = 0; round < 4 && !(Math.min(...ratios) <= 1.5); round++) {
        const quietUntil = performance.now() + 2_500
        const quiet = await p99While(() => performance.now() < quietUntil)
        const id = await hosting.deploy(project.id)
        let deployment = await hosting.deployment(id)
        const watching = (async () => {
          while (!isOver(deployment)) {
            await pause(200)
            deployment = await hosting.deployment(id)
          }
        })()
        const busy = await p99While(() => !isOver(deployment))
        await watching
        expect(deployment.error).toMatchObject({ code, message })
        expect(busy.count).toBeGreaterThan(20)
        ratios.push(busy.p99Ms / quiet.p99Ms)
      }
      // Others use this machine as well: the calmest round says what a build does to it.
      console.log(
        `p99 during a build that ${name} without end, as a ratio: ${ratios.map((ratio) => ratio.toFixed(2)).join(', ')}`,
      )
      expect(Math.min(...ratios)).toBeLessThanOrEqual(1.5)
    },
  )
}
