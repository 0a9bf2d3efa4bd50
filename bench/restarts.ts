import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Hosting, keepRequesting, startHosting, writeApp } from '../tests/kit/hosting.ts'
import { missingLines, numberedLinesApp, numberedLinesOf } from '../tests/kit/numbered-lines.ts'
import { table } from './kit/table.ts'

/**
 * node bench/restarts.ts [--runtime=process|docker] [--restarts=10] [--projects=2] [--connections=8]: restarts the control plane
 * under constant load, every third time with SIGKILL. Fails if a request fails, if a project was restarted, or if a line of its
 * output is missing in its log.
 */
const flag = (name: string, fallback: string) =>
  process.argv.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3) ?? fallback
const runtime = flag('runtime', 'process')
if (runtime !== 'process' && runtime !== 'docker') throw new Error(`--runtime is ${runtime}: it must be process or docker`)
const restarts = Number(flag('restarts', '10'))
const count = Number(flag('projects', '2'))
const connections = Number(flag('connections', '8'))

await using hosting = await startHosting({ runtime, env: { BERTH_SLEEP_AFTER_SECONDS: '86400' } })
const projects = await deployAll(hosting)
const { port } = new URL(hosting.berth.edgeUrl)
const loads = projects.map(({ slug }) =>
  keepRequesting(hosting.berth.edgeUrl, `${slug}.localhost:${port}`, { connections, everyMs: 1 }),
)
const awayMs: number[] = []
for (let round = 1; round <= restarts; round++) {
  await pause(1_000)
  const begun = performance.now()
  if (round % 3 === 0) await hosting.berth.kill9()
  await hosting.berth.restart()
  awayMs.push(performance.now() - begun)
  const { body } = await hosting.api('GET', '/projects')
  const states = body.data.map(({ status }: { status: string }) => status)
  if (states.some((state: string) => state !== states[0]))
    throw new Error(`projects after restart ${round}: ${states.join(', ')}`)
  console.log(
    `restart ${round}: ${round % 3 === 0 ? 'kill -9' : 'SIGTERM'}, away for ${Math.round(awayMs.at(-1)!)} ms, projects ${states[0]}`,
  )
}
await pause(3_000)
const results = await Promise.all(loads.map((load) => load.stop()))
const gaps = await Promise.all(projects.map(({ id }) => logGaps(hosting, id)))
const failed = results.flatMap(({ failures }) => failures)
console.log(
  table(
    ['project', 'requests', 'failed', 'processes', 'log lines missing', 'log lines twice'],
    results.map(({ requests, failures, bodies }, at) => {
      const { missing, twice } = gaps[at]!
      return [projects[at]!.slug, requests, failures.length, bodies.size, missing.length, twice]
    }),
  ),
)
for (const failure of new Set(failed)) console.log(failure)
const isComplete = gaps.every(({ missing }) => missing.length === 0) && results.every(({ bodies }) => bodies.size === 1)
if (failed.length > 0 || !isComplete) process.exitCode = 1

async function deployAll({ folder, makeProject, deploy, settled }: Hosting) {
  await writeApp(join(folder, 'app'), numberedLinesApp)
  const made = []
  for (let at = 0; at < count; at++) {
    const project = await makeProject({ name: `restarts ${at}`, localPath: join(folder, 'app') })
    const deployment = await settled(await deploy(project.id))
    if (deployment.status !== 'live') throw new Error(`not live: ${JSON.stringify(deployment.error)}`)
    made.push(project)
  }
  return made
}

/** Returns the missing lines of the log and the number of repeated ones: after SIGKILL up to a second of output is read again. */
async function logGaps(hosting: Hosting, projectId: string): Promise<{ missing: number[]; twice: number }> {
  const counts = await numberedLinesOf(hosting, projectId)
  if (counts.size === 0) throw new Error('the log has no line')
  return { missing: missingLines(counts), twice: [...counts.values()].filter((times) => times > 1).length }
}
