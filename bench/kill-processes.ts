import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type Database, openDatabase } from '../packages/server/src/platform/database.ts'
import { openTestDatabase } from '../packages/server/src/platform/test-database.ts'
import { backupsOf } from '../tests/kit/backups.ts'
import { type Hosting, serving, startHosting, writeApp } from '../tests/kit/hosting.ts'
import type { InstanceProcesses } from '../tests/kit/instance-processes.ts'
import { partOf } from '../tests/kit/machine.ts'
import { missingLines, numberedLinesApp, numberedLinesOf } from '../tests/kit/numbered-lines.ts'
import { checkEnds } from './kill-processes/check-ends.ts'
import { Requests } from './kill-processes/requests.ts'
import { median } from './kit/median.ts'
import { memoryOfTree } from './kit/process-memory.ts'
import { megabytes, table } from './kit/table.ts'

/**
 * node bench/kill-processes.ts [--kills=20] [--database=sqlite|postgres] [--projects=3]: kills the worker and the API process of
 * `berth up` in turn, with SIGKILL, while projects are deployed, backed up, read and write logs. Fails if a job does not end exactly
 * once, a line of a log is missing, or a request fails that was not under way on a killed process. Ends after 10 minutes.
 */
const { values: flags } = parseArgs({
  options: {
    kills: { type: 'string', default: '20' },
    database: { type: 'string', default: 'sqlite' },
    projects: { type: 'string', default: '3' },
  },
})
const [kills, projectCount, isPostgres] = [Number(flags.kills), Number(flags.projects), flags.database === 'postgres']
const limitMs = 600_000
setTimeout(() => {
  console.error(`FAILED: not over after ${limitMs / 1000} s`)
  process.exit(1)
}, limitMs).unref()

const problems: string[] = []
const awayMs: Record<keyof InstanceProcesses, number[]> = { worker: [], api: [] }
if (isPostgres) process.env.BERTH_TEST_POSTGRES_URL ??= partOf('postgres')
const postgres = isPostgres ? await openTestDatabase({ kind: 'postgres' }) : undefined
const shared = postgres && {
  BERTH_DATABASE_URL: postgres.settings.url,
  BERTH_SECRET_KEY: 'a secret that both processes know',
  BERTH_JOB_LEASE_SECONDS: '5',
}
const hosting = await startHosting({ env: { ...shared, BERTH_QUOTA_BUILDS: '4' } })
const database = postgres ?? (await openDatabase({ folder: hosting.berth.dataFolder }))
try {
  await run(hosting, database)
} catch (error) {
  problems.push(`${(error as Error).stack}`)
} finally {
  if (problems.length > 0) console.error(hosting.berth.output().slice(-8_000))
  if (!postgres) await database.close()
  await hosting[Symbol.asyncDispose]()
  await postgres?.close()
}
for (const problem of problems) console.error(`FAILED: ${problem}`)
process.exit(problems.length > 0 ? 1 : 0)

async function run(api: Hosting, { db }: Database): Promise<void> {
  await writeApp(join(api.folder, 'killed'), serving('killed'))
  await writeApp(join(api.folder, 'numbered'), numberedLinesApp)
  const make = (name: string, folder: string) => api.makeProject({ name, localPath: join(api.folder, folder) })
  const projects = await Promise.all(Array.from({ length: projectCount }, (_, n) => make(`Killed ${n}`, 'killed')))
  const logger = await make('Logger', 'numbered')
  await api.settled(await api.deploy(logger.id))
  const backups = backupsOf(api)
  const destinationId = await backups.destination('local', { path: 'killed' })
  const policyId = await backups.policy(logger.id, { destinationId, retainCount: 100 })
  const requests = new Requests(api)
  const loads = [
    ...projects.map(({ id }) => requests.repeat(300, 'POST', '/deployments/build/access', { projectId: id })),
    requests.repeat(700, 'POST', `/backup-policies/${policyId}/run`),
    ...['/health', `/projects/${logger.id}`, '/projects', '/backup-runs', `/projects/${logger.id}/logs?tail=20`].map((path) =>
      requests.repeat(20, 'GET', path),
    ),
  ]
  const lines = new Map<number, number>()
  const noteLines = async () => {
    for (const [line, count] of await numberedLinesOf(api, logger.id)) lines.set(line, Math.max(count, lines.get(line) ?? 0))
  }
  for (let kill = 0; kill < kills; kill++)
    for (const role of ['worker', 'api'] as const) {
      await pause(500 + Math.random() * 1_500)
      await killOne(role, requests)
      if (role === 'api') await noteLines()
    }
  await pause(1_000)
  requests.stop()
  await Promise.all(loads)
  await noteLines()
  const missing = missingLines(lines)
  if (missing.length > 0) problems.push(`lines of the project's log are missing: ${missing.slice(0, 20)} (${missing.length})`)
  const ends = await checkEnds(api, db, problems)
  problems.push(...requests.problems.slice(0, 20))
  console.log(table(['kills each', ...Object.keys(ends)], [[String(kills), ...Object.values(ends).map(String)]]))
  console.log(
    table(
      ['requests', 'cut on a killed API process', 'writes cut on a killed worker (503)', 'failed otherwise', 'longest'],
      [
        [
          requests.count,
          requests.cut,
          requests.unavailable,
          requests.problems.length,
          `${Math.round(requests.longestMs)} ms`,
        ].map(String),
      ],
    ),
  )
  for (const [role, times] of Object.entries(awayMs))
    console.log(`${role} back after ${Math.round(median(times))} ms (median), ${Math.round(Math.max(...times))} ms at most`)
  const repeated = [...lines.values()].filter((count) => count > 1).length
  console.log(`log lines: ${lines.size}, missing ${missing.length}, stored twice ${repeated}`)
  const { processes } = await memoryOfTree(api.berth.pid)
  const { worker, api: apiPid } = api.berth.processes
  const pss = (pid: number | undefined) => megabytes(processes.find((one) => one.pid === pid)?.pssBytes ?? 0)
  console.log(table(['supervisor, PSS', 'worker', 'API process'], [[pss(api.berth.pid), pss(worker), pss(apiPid)]]))
}

/** Kills the process and waits until both processes work again. */
async function killOne(role: keyof InstanceProcesses, requests: Requests): Promise<void> {
  const pid = hosting.berth.processes[role]
  if (pid === undefined) throw new Error(`the ${role} does not run`)
  const returns = returnsOf(role)
  requests.noteKill(role)
  process.kill(pid, 'SIGKILL')
  const begun = performance.now()
  while (!(await areBack(role, returns))) {
    if (performance.now() - begun > 60_000) throw new Error(`the ${role} does not work again after 60 s`)
    await pause(50)
  }
  requests.noteReturn(role)
  awayMs[role].push(performance.now() - begun)
}

async function areBack(role: keyof InstanceProcesses, returns: number): Promise<boolean> {
  if (returnsOf(role) === returns) return false
  const answer = await hosting.api('GET', '/health').catch(() => undefined)
  return answer?.body.data?.worker === 'ok'
}

/** How often the supervisor has reported that the process works again. */
function returnsOf(role: keyof InstanceProcesses): number {
  return hosting.berth.output().split(`the ${role === 'api' ? 'API process' : role} runs again`).length
}
