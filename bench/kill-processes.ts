import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Deployment } from '@berth/contract'
import { startApiAndWorker } from '../tests/kit/api-and-worker.ts'
import { type Hosting, serving, writeApp } from '../tests/kit/hosting.ts'
import type { Berth } from '../tests/kit/start-berth.ts'
import { memoryOfTree } from './kit/process-memory.ts'
import { megabytes, table } from './kit/table.ts'

/**
 * node bench/kill-processes.ts [--kills=20] [--database=sqlite|postgres] [--projects=4]: kills the worker and the API process in turn
 * while projects are deployed and read. Fails if a deployment does not end exactly once, a read fails that reached no killed process,
 * or a stored deployment has a log without its end.
 */
const flag = (name: string, fallback: string) =>
  process.argv.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3) ?? fallback
const kills = Number(flag('kills', '20'))
const projectCount = Number(flag('projects', '4'))
const isPostgres = flag('database', 'sqlite') === 'postgres'

const problems: string[] = []
const counts = { deployments: 0, live: 0, failed: 0, reads: 0, cut: 0 }

const started = await startApiAndWorker(isPostgres ? 'postgres' : 'sqlite')
const { worker, hosting } = started
try {
  await run(worker, hosting)
} catch (error) {
  problems.push(`${(error as Error).stack}\n${worker.output().slice(-4_000)}`)
} finally {
  await started[Symbol.asyncDispose]()
}
for (const problem of problems) console.error(`FAILED: ${problem}`)
if (problems.length > 0) process.exitCode = 1

async function run(theWorker: Berth, api: Hosting): Promise<void> {
  await writeApp(join(api.folder, 'killed'), serving('killed'))
  const projects = await Promise.all(
    Array.from({ length: projectCount }, (_, n) =>
      api.makeProject({ name: `Killed ${n}`, localPath: join(api.folder, 'killed') }),
    ),
  )
  const load = { isOver: false, apiKills: 0 }
  const work = [...projects.map(({ id }) => deployOften(id, api, load)), readOften(projects[0]!.id, api, load)]
  for (let kill = 0; kill < kills; kill++) {
    await pause(500 + Math.random() * 2_500)
    await theWorker.kill9()
    await theWorker.restart()
    await pause(500 + Math.random() * 2_500)
    load.apiKills += 1
    await api.berth.kill9()
    await api.berth.restart()
    console.log(`killed ${kill + 1} times each, ${counts.deployments} deployments`)
  }
  load.isOver = true
  await Promise.all(work)
  for (const { id } of projects) await checkDeployments(id, api)
  const memory = await Promise.all([theWorker.pid, api.berth.pid].map(memoryOfTree))
  console.log(table(['kills each', ...Object.keys(counts)], [[String(kills), ...Object.values(counts).map(String)]]))
  console.log(table(['worker with edge, PSS', 'API process, PSS'], [memory.map(({ pssBytes }) => megabytes(pssBytes))]))
}

interface Load {
  isOver: boolean
  /** Requests during which the API process was killed are not counted as failed. */
  apiKills: number
}

async function deployOften(projectId: string, api: Hosting, load: Load): Promise<void> {
  while (!load.isOver) {
    const answer = await attempt(load, () => api.api('POST', '/deployments/build/access', { projectId }))
    if (answer?.status === 202) counts.deployments += 1
    await pause(300)
  }
}

async function readOften(projectId: string, api: Hosting, load: Load): Promise<void> {
  while (!load.isOver) {
    for (const path of [`/projects/${projectId}`, '/projects', `/projects/${projectId}/deployments`, '/backup-runs']) {
      const answer = await attempt(load, () => api.api('GET', path))
      if (answer === undefined) continue
      counts.reads += 1
      if (answer.status !== 200) problems.push(`GET ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`)
    }
    await pause(20)
  }
}

/** Undefined: the API process was killed meanwhile, or is not back yet. */
async function attempt<Answer>(load: Load, send: () => Promise<Answer>): Promise<Answer | undefined> {
  const before = load.apiKills
  try {
    return await send()
  } catch (error) {
    counts.cut += 1
    if (before === load.apiKills && before === 0) problems.push(`a request failed before any kill: ${error}`)
    return undefined
  }
}

/** Every deployment has ended, one at most is live, and each log has the line of its end. */
async function checkDeployments(projectId: string, api: Hosting): Promise<void> {
  const all: Deployment[] = []
  let cursor: string | null = null
  do {
    const { body } = await api.api('GET', `/projects/${projectId}/deployments?limit=100${cursor ? `&cursor=${cursor}` : ''}`)
    all.push(...body.data)
    cursor = body.nextCursor
  } while (cursor)
  for (const { id } of all) await api.settled(id)
  const ended = await Promise.all(all.map(({ id }) => api.deployment(id)))
  const live = ended.filter(({ status }) => status === 'live')
  counts.live += live.length
  counts.failed += ended.filter(({ status }) => status === 'failed').length
  if (live.length !== 1) problems.push(`${projectId} has ${live.length} live deployments`)
  for (const { id, status, error } of ended)
    if (status === 'failed') problems.push(`${id} failed: ${error?.code} ${error?.message}`)
  const wentLive = ended.filter(({ status }) => status === 'live' || status === 'superseded')
  for (const { id } of wentLive) {
    const { body } = await api.api('GET', `/deployments/${id}/logs?limit=200`)
    const ends = body.data.filter(({ message }: { message: string }) => message === 'Live').length
    if (ends !== 1) problems.push(`the log of ${id} says ${ends} times that it is live`)
  }
}
