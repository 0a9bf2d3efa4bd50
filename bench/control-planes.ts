import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { announceAll, type Counter, prepareChannels, startCounter } from '../tests/e2e/notification-storm.ts'
import { serving, writeApp } from '../tests/kit/hosting.ts'
import { partOf } from '../tests/kit/machine.ts'
import { followToEnd } from './control-planes/follow.ts'
import { startPlanes } from './control-planes/planes.ts'
import { table } from './kit/table.ts'

/**
 * node bench/control-planes.ts [--deployments=300] [--backups=300] [--deliveries=3000] [--kill-seconds=20]: runs three control planes
 * on one PostgreSQL, and kills them in turn with SIGKILL and restarts them. Every deployment, backup run and delivery is requested and
 * followed through any plane that responds. Fails if one of them does not end exactly once, or if a stream ends without its last event.
 */
const flag = (name: string, fallback: number) =>
  Number(process.argv.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3) ?? fallback)
const deploymentCount = flag('deployments', 300)
const backupCount = flag('backups', 300)
const deliveryCount = flag('deliveries', 3_000)
const killMs = flag('kill-seconds', 20) * 1_000
const projectCount = 10
const perChannel = 20
/** The whole run; work that has not ended by then is a failure. */
const limitMs = 9 * 60_000

const problems: string[] = []
const counts = { deployments: 0, backups: 0, cutStreams: 0, cutRequests: 0, repeatedDeliveries: 0 }

process.env.BERTH_TEST_POSTGRES_URL ??= partOf('postgres')
await using planes = await startPlanes()
await using receiver = await startCounter()
const began = performance.now()
try {
  await run()
} catch (error) {
  problems.push(`${(error as Error).stack}\n${planes.all.map((plane) => plane.output().slice(-2_000)).join('\n--\n')}`)
}
for (const problem of problems) console.error(`FAILED: ${problem}`)
if (problems.length > 0) process.exitCode = 1

async function run(): Promise<void> {
  const { hosting, database } = planes
  const localPath = join(hosting.folder, 'app')
  await writeApp(localPath, serving('served'))
  const destinationId = (await data('POST', '/backup-destinations', { name: 'here', kind: 'local', config: { path: 'backups' } }))
    .id
  const projects = await Promise.all(
    Array.from({ length: projectCount }, async (_, at) => {
      const volumes = [{ name: 'data', mountPath: '/data' }]
      const { id } = await hosting.makeProject({ name: `Project ${at}`, localPath, volumes })
      await hosting.settled(await hosting.deploy(id))
      const policy = await data('POST', `/projects/${id}/backup-policies`, { destinationId, retainCount: 1_000 })
      return { id: id as string, policyId: policy.id as string }
    }),
  )
  const organizationId = await prepareChannels(database, hosting.berth, receiver, deliveryCount / perChannel)
  const killing = new AbortController()
  const killed = killInTurn(killing.signal)
  const share = (total: number, at: number) => Math.floor(total / projectCount) + (at < total % projectCount ? 1 : 0)
  const announcing = (async () => {
    for (let event = 0; event < perChannel / 2; event++) {
      await announceAll(database, organizationId, event)
      await pause(killMs / 4)
    }
  })()
  const deploying = projects.map(({ id }, at) => repeat(share(deploymentCount, at), (number) => deployOnce(id, at + number)))
  const backingUp = projects.map(({ policyId }, at) =>
    repeat(share(backupCount, at), (number) => backUpOnce(policyId, at + number)),
  )
  await withinLimit(Promise.all([announcing, ...deploying, ...backingUp, untilDelivered()]))
  killing.abort()
  await killed
  const tookSeconds = Math.round((performance.now() - began) / 1_000)
  for (const { id } of projects) await checkDeployments(id)
  await checkBackups()
  await checkDeliveries(receiver)
  await checkJobs()
  const columns = ['kills', ...Object.keys(counts), 'seconds']
  console.log(table(columns, [[planes.kills.join(' + '), ...Object.values(counts).map(String), String(tookSeconds)]]))
}

async function data(method: string, path: string, body?: unknown) {
  const answer = await planes.ask(method, path, body)
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body.data
}

async function repeat(count: number, work: (number: number) => Promise<void>): Promise<void> {
  for (let number = 0; number < count; number++)
    await work(number).catch((error: Error) => void problems.push(`${error.message}`))
}

async function killInTurn(over: AbortSignal): Promise<void> {
  for (let plane = 0; !over.aborted; plane = (plane + 1) % planes.all.length) {
    await pause(killMs, undefined, { signal: over }).catch(() => undefined)
    if (over.aborted) return
    await planes.killAndRestart(plane)
    console.log(`killed plane ${plane}: ${JSON.stringify(counts)}, ${receiver.receipts.size} deliveries`)
  }
}

async function withinLimit(work: Promise<unknown>): Promise<void> {
  const timer = Promise.withResolvers<never>()
  const timeout = setTimeout(() => timer.reject(new Error(`not ended after ${limitMs} ms`)), limitMs)
  await Promise.race([work, timer.promise]).finally(() => clearTimeout(timeout))
}

/** Repeats the request if a kill interrupts it. It may then have been accepted twice: both operations must end. */
async function requested(method: string, path: string, body: object, first: number) {
  for (let attempt = 0; ; attempt++) {
    const answer = await planes.send((first + attempt) % planes.all.length, method, path, body).catch(() => undefined)
    if (answer?.status === 202) return answer.body.data
    if (answer && answer.status !== 503 && answer.status !== 409)
      throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    if (!answer) counts.cutRequests += 1
    await pause(200)
  }
}

async function deployOnce(projectId: string, first: number): Promise<void> {
  const { deploymentId } = await requested('POST', '/deployments/build/access', { projectId }, first)
  const { status, cuts } = await followToEnd(planes, `/deployments/${deploymentId}/stream`, first + 1)
  counts.deployments += 1
  counts.cutStreams += cuts
  const stored = (await data('GET', `/deployments/${deploymentId}`)).status
  if (stored !== status && !(status === 'live' && stored === 'superseded'))
    problems.push(`the stream of ${deploymentId} ended with ${status}, it is ${stored}`)
}

async function backUpOnce(policyId: string, first: number): Promise<void> {
  const { runId } = await requested('POST', `/backup-policies/${policyId}/run`, {}, first)
  const { status, cuts } = await followToEnd(planes, `/backup-runs/${runId}/stream`, first + 1)
  counts.backups += 1
  counts.cutStreams += cuts
  if (status !== 'succeeded') problems.push(`the run ${runId} ended with ${status}`)
}

async function untilDelivered(): Promise<void> {
  const ended = async () => {
    const rows = await planes.database.db.selectFrom('deliveries').select('status').execute()
    return rows.filter(({ status }) => status === 'sent' || status === 'failed').length
  }
  while ((await ended()) < deliveryCount) await pause(500)
}

/** Checks that every deployment has ended, that only the newest is live, and that each log reports once that it went live. */
async function checkDeployments(projectId: string): Promise<void> {
  const rows = await planes.database.db
    .selectFrom('deployments')
    .select(['id', 'number', 'status', 'errorMessage'])
    .where('projectId', '=', projectId)
    .orderBy('number')
    .execute()
  for (const [at, { id, number, status, errorMessage }] of rows.entries()) {
    if (number !== at + 1) problems.push(`${id} has the number ${number}, and ${at} are before it`)
    const isReplaced = status === 'cancelled' && errorMessage?.startsWith('Replaced')
    const expected = at === rows.length - 1 ? status === 'live' : status === 'superseded' || isReplaced
    if (!expected) problems.push(`${id} is ${status}: ${errorMessage}`)
    if (isReplaced) continue
    const log = (await data('GET', `/deployments/${id}/logs?limit=200`)) as { message: string }[]
    const ends = log.filter(({ message }) => message === 'Live').length
    if (ends !== 1) problems.push(`the log of ${id} says ${ends} times that it is live`)
  }
  const instances = await planes.database.db.selectFrom('instances').select('id').where('projectId', '=', projectId).execute()
  if (instances.length !== 1) problems.push(`${projectId} has ${instances.length} instances`)
}

/** Checks that every run succeeded and saved its volume once. */
async function checkBackups(): Promise<void> {
  const { db } = planes.database
  const runs = await db.selectFrom('backupRuns').select(['id', 'status', 'errorMessage']).execute()
  const artifacts = await db.selectFrom('backupArtifacts').select(['runId', 'name']).execute()
  const namesOf = Map.groupBy(artifacts, ({ runId }) => runId)
  for (const { id, status, errorMessage } of runs) {
    if (status !== 'succeeded') problems.push(`the run ${id} is ${status}: ${errorMessage}`)
    const names = (namesOf.get(id) ?? []).map(({ name }) => name)
    if (names.length === 0 || new Set(names).size !== names.length)
      problems.push(`the run ${id} saved ${names.join(', ') || 'nothing'}`)
  }
  if (runs.length < backupCount) problems.push(`${runs.length} of ${backupCount} runs exist`)
}

/** Checks that every delivery is recorded as sent and arrived. A delivery may arrive twice if its process was killed while sending. */
async function checkDeliveries({ receipts, badSignatures }: Counter): Promise<void> {
  const rows = await planes.database.db.selectFrom('deliveries').select(['id', 'status', 'attempts', 'lastError']).execute()
  if (rows.length !== deliveryCount) problems.push(`${rows.length} of ${deliveryCount} deliveries exist`)
  if (badSignatures > 0) problems.push(`${badSignatures} deliveries had a wrong signature`)
  for (const { id, status, attempts, lastError } of rows) {
    const times = receipts.get(id)?.length ?? 0
    if (status !== 'sent' || times === 0)
      problems.push(`the delivery ${id} is ${status} (${lastError}) and arrived ${times} times`)
    if (times > attempts) problems.push(`the delivery ${id} arrived ${times} times in ${attempts} attempts`)
    if (times > 1) counts.repeatedDeliveries += 1
  }
}

/** Checks that the queue is empty and that every job succeeded. */
async function checkJobs(): Promise<void> {
  const rows = await planes.database.db
    .selectFrom('jobs')
    .select(['id', 'kind', 'status', 'lastError'])
    .where('kind', 'in', ['deployments.deploy', 'backups.run', 'notifications.deliver'])
    .where('status', '!=', 'succeeded')
    .where('status', '!=', 'cancelled')
    .execute()
  for (const { id, kind, status, lastError } of rows) problems.push(`the job ${id} (${kind}) is ${status}: ${lastError}`)
}
