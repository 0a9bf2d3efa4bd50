import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Hosting, startHosting, writeApp } from '../tests/kit/hosting.ts'
import { cpuSecondsOfInstance } from './kit/process-cpu.ts'
import { StolenTime } from './kit/stolen-time.ts'
import { table } from './kit/table.ts'

/**
 * node bench/log-lines.ts [--projects=20] [--rates=1000,20000] [--seconds=20] [--runtime=process|docker] [--profile=<folder>]:
 * measures the CPU time of the control plane while projects write log lines, each with its own write. The CPU time without log lines
 * is measured in the same run and subtracted. Fails if 1,000 lines a second cost 5 % of a core or more, or if a line is missing or
 * out of order.
 */
const flag = (name: string, fallback: string) =>
  process.argv.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3) ?? fallback

const runtime = flag('runtime', 'process')
if (runtime !== 'process' && runtime !== 'docker') throw new Error(`--runtime is ${runtime}: it must be process or docker`)
const projects = Number(flag('projects', '20'))
const rates = flag('rates', '1000,20000').split(',').map(Number)
const seconds = Number(flag('seconds', '20'))
const settleMs = Number(flag('settle', '15')) * 1000
const profile = flag('profile', '')
const limitedRate = 1_000
const limitPercent = 5

/** Writes numbered lines at the rate that a request names, each in its own write, at even intervals. */
const writer = `
import { createServer } from 'node:http'
import { writeSync } from 'node:fs'
let number = 0
createServer((request, response) => {
  const { searchParams } = new URL(request.url, 'http://localhost')
  const [perSecond, total] = ['rate', 'total'].map((name) => Number(searchParams.get(name)))
  const begun = performance.now()
  let written = 0
  const timer = perSecond > 0 && setInterval(() => {
    const due = Math.min(total, Math.floor((performance.now() - begun) * perSecond / 1000))
    for (; written < due; written++) writeSync(1, 'GET /items/' + number % 977 + ' answered 200 in 12 ms, line ' + number++ + '\\n')
    if (written >= total) clearInterval(timer)
  }, 5)
  response.end(String(number))
}).listen(process.env.PORT, process.env.HOST)
`

interface Cost {
  name: string
  lines: number
  percent: number
}

await using hosting = await startHosting({ runtime, env: { BERTH_SLEEP_AFTER_SECONDS: '86400', BERTH_MAX_BUILDS: '2' } })
await writeApp(join(hosting.folder, 'writer'), writer)
const running = await Promise.all(Array.from({ length: projects }, (_, at) => runProject(hosting, at)))
if (profile) {
  await hosting.berth.restart({ NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profile}` })
  for (const { slug } of running) while ((await page(slug, 0, 0)) !== 200) await pause(200)
}
await pause(settleMs)

const costs: Cost[] = []
let perProject = 0
for (const rate of [0, ...rates]) {
  costs.push(await measure(rate))
  perProject += Math.floor((rate / projects) * seconds)
}
await checkLines()

const idle = costs[0]!.percent
console.log(`${projects} projects as ${runtime}, ${seconds} s each`)
console.log(
  table(
    ['lines a second', '% of a core', 'without the idle cost', 'µs a line'],
    costs.map(({ name, lines, percent }) => [
      name,
      percent,
      percent - idle,
      lines === 0 ? '' : (((percent - idle) / 100) * seconds * 1e6) / lines,
    ]),
  ),
)
const limited = costs.find(({ name }) => name === String(limitedRate))
if (limited) {
  console.log(`\n${(limited.percent - idle).toFixed(2)} % of a core at ${limitedRate} lines a second (limit: ${limitPercent} %)`)
  process.exitCode = limited.percent - idle < limitPercent ? 0 : 1
}

async function runProject({ folder, makeProject, deploy, settled }: Hosting, number: number) {
  const { id, slug } = await makeProject({ name: `writer ${number}`, localPath: join(folder, 'writer') })
  const { status, error } = await settled(await deploy(id))
  if (status !== 'live') throw new Error(`project ${number} is ${status}: ${error?.message}`)
  return { id, slug }
}

async function page(slug: string, rate: number, total: number): Promise<number | undefined> {
  return (await hosting.get(`${slug}.localhost`, `/?rate=${rate}&total=${total}`).catch(() => null))?.status
}

async function measure(rate: number): Promise<Cost> {
  const each = rate / projects
  const total = Math.floor(each * seconds)
  for (const { slug } of running) await page(slug, each, total)
  const stolen = new StolenTime()
  stolen.take()
  const before = await cpuSecondsOfInstance(hosting.berth.pid)
  await pause(seconds * 1000)
  const spent = (await cpuSecondsOfInstance(hosting.berth.pid)) - before
  await pause(3_000)
  const share = stolen.take()
  if (share > 0.02) console.error(`${rate}: the host took ${(share * 100).toFixed(0)} % of the time away`)
  return { name: String(rate), lines: total * projects, percent: (spent / seconds) * 100 }
}

/** Checks that the newest lines of each project are complete and in order. */
async function checkLines(): Promise<void> {
  const limit = Math.min(500, perProject)
  for (const { id } of running) {
    const { body } = await hosting.api('GET', `/projects/${id}/logs?tail=${limit}`)
    const numbers = (body.data as { message: string }[]).map(({ message }) => Number(/line (\d+)$/.exec(message)?.[1]))
    const expected = Array.from({ length: limit }, (_, at) => perProject - limit + at)
    if (numbers.join() !== expected.join())
      throw new Error(`project ${id}: the newest lines are ${numbers[0]} to ${numbers.at(-1)}`)
  }
}
