// Makes 1,000 backup policies of 1,000 projects due in the same minute, on the built product with its two processes. Fails unless all
// runs succeed within 120 s and the p99 of /api/health and of a read is at most 1.5 times that of the idle instance, which is measured
// half before and half after. Seconds in which the host took CPU time from this machine are left out.
// Run: npx node bench/backup-policies.ts [--policies=1000] [--source] [--profile=<folder>]
// --source: each project has an upload, which its run saves too. --profile: the folder for V8 profiles of the processes.
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { buffer } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { storedTarball } from '../packages/server/tests/kit/stored-tarball.ts'
import { backupsOf } from '../tests/kit/backups.ts'
import { startHosting } from '../tests/kit/hosting.ts'
import { requestSteadily, type SteadyRequests } from '../tests/kit/request-steadily.ts'
import { percentile } from './kit/load.ts'
import { cpuSecondsOfThreads } from './kit/process-cpu.ts'
import { StolenTime } from './kit/stolen-time.ts'
import { table } from './kit/table.ts'

const { values: flags } = parseArgs({
  options: {
    policies: { type: 'string', default: '1000' },
    source: { type: 'boolean', default: false },
    profile: { type: 'string' },
  },
})
const policies = Number(flags.policies)
const [allowedRatio, maxRunSeconds, idleMs, requestPauseMs] = [1.5, 120, 40_000, 20]
const giveUpMs = 280_000

await using hosting = await startHosting({
  env: flags.profile ? { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${flags.profile}` } : {},
})
const { berth } = hosting
const { token } = (await hosting.api('POST', '/tokens', { name: 'reader' })).body.data as { token: string }
const headers = { authorization: `Bearer ${token}` }

const backups = backupsOf(hosting)
const destinationId = await backups.destination('local', { path: 'bench' })
const tarball = await buffer(storedTarball(20_000))
const schedule = { destinationId, cronExpression: '0 3 * * *', timezone: 'UTC' }
const projectIds: string[] = []
for (let at = 0; at < policies; at++) {
  const { id } = await hosting.makeProject({ name: `Project ${at}`, ...(flags.source ? await upload() : {}) })
  await backups.policy(id, schedule)
  projectIds.push(id)
}

const database = new DatabaseSync(join(berth.dataFolder, 'berth.db'), { timeout: 20_000 })
const paths = { '/api/health': '/api/health', 'a project': `/api/projects/${projectIds[0]}` }
const requesters = Object.entries(paths).map(
  ([name, path]) => [name, requestSteadily(berth.url, '127.0.0.1', { path, headers, pauseMs: requestPauseMs })] as const,
)
const seconds = { counted: 0, stolen: 0 }
await pause(3_000)
const idle = await during(() => pause(idleMs / 2))
let runSeconds = Number.NaN
const before = await cpuOfProcesses()
const busy = await during(runAll)
const after = await cpuOfProcesses()
idle.push(...(await during(() => pause(idleMs / 2))))
for (const [, requester] of requesters) await requester[Symbol.asyncDispose]()

const succeeded = countOf(`status = 'succeeded'`)
const rows = requesters.map(([name]) => {
  const [quiet, loaded] = [timesOf(name, idle), timesOf(name, busy)]
  const ratio = percentile(loaded, 99) / percentile(quiet, 99)
  const figures = [quiet, loaded].flatMap((times) => [percentile(times, 50), percentile(times, 99), times.at(-1) ?? Number.NaN])
  return { ratio, cells: [name, ...figures.map((ms) => ms.toFixed(1)), String(loaded.length), ratio.toFixed(2)] }
})
console.log(
  table(
    ['', 'idle p50 ms', 'p99', 'worst', 'backing up p50 ms', 'p99', 'worst', 'requests', 'p99 ratio'],
    rows.map(({ cells }) => cells),
  ),
)
console.log(
  `${succeeded} of ${policies} succeeded in ${runSeconds.toFixed(0)} s, ${flags.source ? 'with' : 'without'} an upload each`,
)
console.log(
  `processor time for each run: worker ${((after.worker - before.worker) / policies).toFixed(3)} s, API process ${((after.api - before.api) / policies).toFixed(3)} s`,
)
console.log(`${seconds.counted} s counted, ${seconds.stolen} s left out because the host took processor time away`)
const isSlow = rows.some(({ ratio }) => !(ratio <= allowedRatio)) || !(runSeconds < maxRunSeconds)
if (succeeded !== policies || isSlow) process.exitCode = 1
database.close()

async function upload(): Promise<{ uploadSessionId: string }> {
  const { sessionId } = (await hosting.api('POST', '/projects/folder/session', {})).body.data as { sessionId: string }
  const response = await fetch(`${berth.url}/api/projects/folder/upload/${sessionId}`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/gzip' },
    body: new Uint8Array(tarball),
  })
  if (response.status !== 200) throw new Error(`the upload: ${response.status} ${await response.text()}`)
  return { uploadSessionId: sessionId }
}

/** Makes every schedule due now, and resolves when all runs have ended. */
async function runAll(): Promise<void> {
  database.prepare(`update schedules set "nextRunAt" = ? where key like 'backup-policy:%'`).run(Date.now())
  const begun = performance.now()
  // The worker knows the next due time; a new schedule makes it read again.
  await backups.policy(projectIds[0] as string, { ...schedule, cronExpression: '0 4 * * *' })
  while (countOf(`status in ('succeeded', 'failed', 'server_error')`) < policies && performance.now() - begun < giveUpMs)
    await pause(500)
  runSeconds = (performance.now() - begun) / 1000
}

function countOf(condition: string): number {
  return Number(database.prepare(`select count(*) as count from "backupRuns" where ${condition}`).get()?.count)
}

type Times = [name: string, tookMs: number[]][]

function timesOf(name: string, times: Times): number[] {
  return times.flatMap(([of, took]) => (of === name ? took : [])).sort((one, other) => one - other)
}

/** Returns the response times while the work ran, without the seconds in which the host took CPU time. */
async function during(work: () => Promise<unknown>): Promise<Times> {
  const found: Times = []
  const stolen = new StolenTime()
  await takeAll()
  let isOver = false
  const over = work().finally(() => {
    isOver = true
  })
  while (!isOver) {
    await pause(1_000)
    const taken = await takeAll()
    // Even a hundredth of a second that the host took would decide the p99.
    const isQuiet = stolen.take() === 0
    seconds[isQuiet ? 'counted' : 'stolen'] += 1
    if (isQuiet) found.push(...taken)
  }
  await over
  return found
}

function takeAll(): Promise<Times> {
  return Promise.all(
    requesters.map(async ([name, requester]: readonly [string, SteadyRequests]) => [name, await requester.take()]),
  )
}

async function cpuOfProcesses(): Promise<{ worker: number; api: number }> {
  const { worker, api } = berth.processes
  const [ofWorker = 0, ofApi = 0] = await Promise.all([worker, api].map((pid) => (pid ? cpuSecondsOfThreads(pid) : 0)))
  return { worker: ofWorker, api: ofApi }
}
