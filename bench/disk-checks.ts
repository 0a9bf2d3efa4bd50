import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { emptyPlan } from '../packages/server/src/drivers/runtime/build-plan.ts'
import { createProcessRuntime } from '../packages/server/src/drivers/runtime/process/process-runtime.ts'
import { tempFolder } from '../tests/kit/temp-folder.ts'
import { table } from './kit/table.ts'

/**
 * node bench/disk-checks.ts [--projects=20] [--files=20000] [--seconds=60]: the cost of enforcing the projects' disk quotas while
 * another process fills the disk: CPU time of this process as a share of one core, and the delay of its event loop. It begins with
 * the build, whose files are added up as they grow. Fails if the phase in which the disk fills up uses more than a fifth of a core
 * (`maxMeasuringShare` in disk-use.ts).
 */
const limit = 0.2
const { values } = parseArgs({
  options: {
    projects: { type: 'string', default: '20' },
    files: { type: 'string', default: '20000' },
    seconds: { type: 'string', default: '60' },
  },
})
const [projects, files, seconds] = [values.projects, values.files, values.seconds].map(Number) as [number, number, number]
const neverAborted = new AbortController().signal
const owner = { projectId: 'prj_many', deploymentId: 'dep_many', environment: 'production' }
const resources = { cpuCores: 1, memoryMb: 256, diskMb: 4096 }

await using place = await tempFolder('disk-checks')
const source = join(place.path, 'source')
mkdirSync(source)
// Writes files as a package manager does: many small ones, and a larger one from time to time.
writeFileSync(
  join(source, 'make.cjs'),
  `const fs = require('node:fs')
for (let at = 0; at < ${files}; at++) {
  const folder = 'packages/' + Math.floor(at / 20)
  if (at % 20 === 0) fs.mkdirSync(folder, { recursive: true })
  fs.writeFileSync(folder + '/' + at, Buffer.alloc(at % 20 === 0 ? 400_000 : 2_000, 1))
}`,
)
const runtime = createProcessRuntime({ folder: join(place.path, 'processes'), environment: process.env })

async function measured<Result>(
  work: () => Promise<Result>,
): Promise<{ result: Result; cores: number; delayMs: number; tookS: number }> {
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  const [cpu, began] = [process.cpuUsage(), performance.now()]
  const result = await work()
  const { user, system } = process.cpuUsage(cpu)
  const tookMs = performance.now() - began
  delay.disable()
  return { result, cores: (user + system) / 1000 / tookMs, delayMs: delay.percentile(99) / 1e6, tookS: tookMs / 1000 }
}

/** Another process writes to the disk outside any project: its CPU time is not measured. */
async function fillDisk(): Promise<void> {
  const file = join(place.path, 'others')
  const program = `const { openSync, writeSync } = require('node:fs')
const file = openSync(process.argv[1], 'w')
const piece = Buffer.alloc(4 * 1024 * 1024, 1)
setInterval(() => writeSync(file, piece), 250)`
  const writer = spawn(process.execPath, ['-e', program, file], { stdio: 'inherit' })
  const ended = once(writer, 'exit')
  await pause(seconds * 1000)
  if (writer.exitCode !== null) throw new Error(`the process that fills the disk ended with code ${writer.exitCode}`)
  writer.kill('SIGKILL')
  await ended
  rmSync(file)
}

const plan = { ...emptyPlan, language: 'node', buildCommand: 'node make.cjs', startCommand: 'sleep 600' }
const built = await measured(() =>
  runtime.build(
    { owner, service: '', sourceFolder: source, plan, secrets: {}, resources, timeoutMs: 600_000 } as Parameters<
      typeof runtime.build
    >[0],
    () => undefined,
    neverAborted,
  ),
)
const artifact = built.result
const ids = Array.from({ length: projects }, (_, at) => `ins_many${at}`)
try {
  for (const instanceId of ids)
    await runtime.start(
      {
        ...{ instanceId, owner, service: '', artifact, command: null, entrypoint: null, env: {}, port: null },
        ...{ volumes: [], network: null, resources, restart: false },
      },
      neverAborted,
    )
  // Each project is checked once after its start.
  await pause(Math.max(seconds * 1000, projects * 8_000))
  const quiet = await measured(() => pause(seconds * 1000))
  const filling = await measured(fillDisk)
  const row = (name: string, { cores, delayMs, tookS }: Awaited<ReturnType<typeof measured>>) => [
    name,
    `${(cores * 100).toFixed(1)} %`,
    delayMs.toFixed(1),
    tookS.toFixed(1),
  ]
  console.log(
    table(
      [`${projects} projects of ${files} files`, 'of a core', 'p99 of the loop, ms', 'seconds'],
      [row('build', built), row('nothing happens', quiet), row('the disk fills up', filling)],
    ),
  )
  if (filling.cores > limit) {
    console.error(`more than ${limit} of a core while others fill the disk`)
    process.exitCode = 1
  }
} finally {
  for (const instanceId of ids) await runtime.stop(instanceId, { graceSeconds: 0 }, neverAborted)
  await runtime.close()
}
