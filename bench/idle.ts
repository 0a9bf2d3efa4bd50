import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Hosting, serving, startHosting, writeApp } from '../tests/kit/hosting.ts'
import { instanceProcesses } from '../tests/kit/instance-processes.ts'
import { cpuMsOf } from './kit/process-cpu.ts'
import { memoryOf } from './kit/process-memory.ts'
import { StolenTime } from './kit/stolen-time.ts'
import { megabytes, table } from './kit/table.ts'

/**
 * node bench/idle.ts [--runtime=process|docker] [--projects=0,20,100] [--seconds=60] [--profile=<folder>]: CPU time and memory of
 * the control plane and the edge while projects run without requests. Each number is measured after a fresh start, and again right
 * after the deployments. CPU time stolen by the host would count as the program's own: periods with stolen time are skipped and
 * repeated. Fails above 1 % of a core or 0.5 MB per project at the largest number.
 */
const flag = (name: string, fallback: string) =>
  process.argv.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3) ?? fallback

const runtime = flag('runtime', 'process')
if (runtime !== 'process' && runtime !== 'docker') throw new Error(`--runtime is ${runtime}: it must be process or docker`)
const steps = flag('projects', '0,20,100').split(',').map(Number)
const seconds = Number(flag('seconds', '60'))
const profile = flag('profile', '')
const atOnce = 6
// Newly started projects are checked more often at first; after this long each of a hundred has its final interval.
const settleMs = 180_000
const momentMs = 5_000
const maxStolen = 0.02

interface Cost {
  projects: number
  when: string
  controlPlane: { percent: number; bytes: number }
  edge: { percent: number; bytes: number }
}

await using hosting = await startHosting({
  runtime,
  env: { BERTH_MAX_BUILDS: String(atOnce), BERTH_SLEEP_AFTER_SECONDS: '86400' },
})
await writeApp(join(hosting.folder, 'idle'), serving('idle'))
const costs: Cost[] = []
let made = 0
const hosts: string[] = []
for (const projects of steps) {
  const isMore = projects > made
  await grow(hosting, projects)
  if (isMore) costs.push(await measure(projects, 'after the deployments'))
  const profiled = profile && projects === steps.at(-1)
  await hosting.berth.restart(profiled ? { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profile}` } : {})
  await allRun(hosting)
  costs.push(await measure(projects, 'after a start'))
}

const rows = costs.map(({ projects, when, controlPlane, edge }) => [
  `${projects} ${when}`,
  controlPlane.percent,
  megabytes(controlPlane.bytes),
  edge.percent,
  megabytes(edge.bytes),
])
console.log(`projects as ${runtime}, ${seconds} s each`)
console.log(table(['projects', 'control plane, % of a core', 'memory', 'edge, % of a core', 'memory'], rows))
const started = costs.filter(({ when }) => when === 'after a start')
const [least, most] = [started[0]!, started.at(-1)!]
const percent = most.controlPlane.percent
const megabytesEach = (most.controlPlane.bytes - least.controlPlane.bytes) / 1e6 / Math.max(1, most.projects - least.projects)
console.log(
  `\nat ${most.projects}: ${percent.toFixed(2)} % of a core, ${megabytesEach.toFixed(2)} MB a project (limits: 1 %, 0.5 MB)`,
)
process.exitCode = percent <= 1 && megabytesEach <= 0.5 ? 0 : 1

async function grow({ folder, makeProject, deploy, settled }: Hosting, wanted: number): Promise<void> {
  const localPath = join(folder, 'idle')
  const numbers = Array.from({ length: Math.max(0, wanted - made) }, (_, at) => made + at).values()
  const worker = async () => {
    for (const number of numbers) {
      const { id, slug } = await makeProject({ name: `idle ${number}`, localPath, healthCheck: { path: '/' } })
      const { status, error } = await settled(await deploy(id))
      hosts.push(`${slug}.localhost`)
      if (status !== 'live') throw new Error(`project ${number} is ${status}: ${error?.message}`)
      if (number % 10 === 9) console.error(`${number + 1} run`)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  made = wanted
}

/** Resolves once every project responds. Plain processes end with the control plane, and the next one starts them again. */
async function allRun({ get }: Hosting): Promise<void> {
  for (const host of hosts) while ((await get(host).catch(() => null))?.status !== 200) await pause(500)
}

async function measure(projects: number, when: string): Promise<Cost> {
  const { pid, dataFolder } = hosting.berth
  await pause(settleMs)
  const edgePid = Number(await readFile(join(dataFolder, 'edge', 'edge.lock'), 'utf8'))
  const parts = { controlPlane: [pid, ...Object.values(instanceProcesses(pid))], edge: [edgePid] }
  const { spentMs, cpuMs } = await quietMoments([...parts.controlPlane, ...parts.edge])
  const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0)
  const costOf = async (pids: number[], cpuMs: number[]) => ({
    percent: (sum(cpuMs) / spentMs) * 100,
    // Not the proportional set size: with more projects, each one's share of Node's own code would be smaller.
    bytes: sum(await Promise.all(pids.map(async (one) => (await memoryOf(one))?.rssBytes ?? 0))),
  })
  const controlPlane = await costOf(parts.controlPlane, cpuMs.slice(0, -1))
  const edge = await costOf(parts.edge, cpuMs.slice(-1))
  console.error(`${projects} ${when}: ${controlPlane.percent.toFixed(2)} % ${megabytes(controlPlane.bytes)}`)
  return { projects, when, controlPlane, edge }
}

/** Measures the CPU time of each process over `seconds` without stolen time. Gives up after four times as long. */
async function quietMoments(pids: readonly number[]): Promise<{ spentMs: number; cpuMs: number[] }> {
  const stolen = new StolenTime()
  const until = performance.now() + 4 * seconds * 1000
  let spentMs = 0
  const cpuMs = pids.map(() => 0)
  while (spentMs < seconds * 1000) {
    if (performance.now() > until)
      throw new Error('the host took CPU time in too many periods: no result. Run it again on a quieter host')
    const begun = performance.now()
    const before = await Promise.all(pids.map(cpuMsOf))
    stolen.take()
    await pause(momentMs)
    const after = await Promise.all(pids.map(cpuMsOf))
    if (stolen.take() > maxStolen) continue
    spentMs += performance.now() - begun
    for (const at of pids.keys()) cpuMs[at]! += after[at]! - before[at]!
  }
  return { spentMs, cpuMs }
}
