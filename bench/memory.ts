import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { serving, startHosting, writeApp } from '../tests/kit/hosting.ts'
import { residentBytesOfInstance } from './kit/process-memory.ts'
import { inspectorEnv, reachableBytesOfInstance } from './kit/reachable.ts'
import { megabytes, ratio, table } from './kit/table.ts'

/**
 * node bench/memory.ts [--deployments=60] [--runtime=process|docker] [--snapshots=<folder>]: measures the memory of the control
 * plane before a project is deployed many times, right after, and a minute later: the reachable bytes after a garbage
 * collection, and the resident size. Fails above 1.5 times the reachable bytes after the first deployment.
 */
const flag = (name: string, fallback: string) =>
  process.argv.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3) ?? fallback
const count = Number(flag('deployments', '60'))
const runtime = flag('runtime', 'process')
if (runtime !== 'process' && runtime !== 'docker') throw new Error(`--runtime is ${runtime}: it must be process or docker`)
const snapshots = flag('snapshots', '')
const limit = 1.5

await using hosting = await startHosting({ runtime, env: inspectorEnv })
const localPath = join(hosting.folder, 'again')
await writeApp(localPath, serving('version 0'))
const project = await hosting.makeProject({ name: 'again', localPath, healthCheck: { path: '/' } })
const found: { when: string; resident: number; reachable: number }[] = []
await deployOnce(0)
await pause(20_000)
await check('after the first')
for (let at = 1; at <= count; at++) await deployOnce(at)
await check(`after ${count} more`)
await pause(60_000)
await check('a minute later')

console.log(`projects as ${runtime}`)
const rows = found.map(({ when, resident, reachable }) => [when, megabytes(resident), megabytes(reachable)])
console.log(table(['deployments', 'resident', 'reachable'], rows))
const [first, last] = [found[0]!, found.at(-1)!]
console.log(
  `\nreachable ${ratio(last.reachable, first.reachable)} ×, resident ${ratio(last.resident, first.resident)} × (limit of the first: ${limit})`,
)
process.exitCode = last.reachable > limit * first.reachable ? 1 : 0

async function deployOnce(at: number): Promise<void> {
  await writeApp(localPath, serving(`version ${at}`))
  const { status, error } = await hosting.settled(await hosting.deploy(project.id))
  if (status !== 'live') throw new Error(`deployment ${at} is ${status}: ${error?.message}`)
}

/** Resident memory is read first, because measuring the reachable memory frees some of it. */
async function check(when: string): Promise<void> {
  const resident = await residentBytesOfInstance(hosting.berth.pid)
  const files = snapshots ? { folder: snapshots, name: when.replaceAll(' ', '-') } : undefined
  const reachable = await reachableBytesOfInstance(hosting.berth, files)
  console.error(`${when}: resident ${megabytes(resident)}, reachable ${megabytes(reachable)}`)
  found.push({ when, resident, reachable })
}
