import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Database, openDatabase } from '../packages/server/src/platform/database.ts'
import { migrations } from '../packages/server/src/platform/db/migrations/index.ts'
import { openTestDatabase, type TestDatabase } from '../packages/server/src/platform/test-database.ts'
import { getPage, isOver, ownerSettings, serving, signIn, writeApp } from '../tests/kit/hosting.ts'
import { partOf } from '../tests/kit/machine.ts'
import { settingsFor } from '../tests/kit/runtimes.ts'
import { type Berth, startBerth } from '../tests/kit/start-berth.ts'
import { tempFolder } from '../tests/kit/temp-folder.ts'
import { table } from './kit/table.ts'
import { buildVersion } from './two-versions/other-version.ts'

/**
 * node bench/two-versions.ts [--commit=e53e4a06]: an earlier version, built in a temporary folder, and this one on one PostgreSQL.
 * First the earlier worker and API process run on the migrated schema, then the worker is upgraded beside the earlier API process.
 * Reads, writes, deployments and backups are made through each API process in each phase. Fails if one of them fails. Needs a built
 * tree and PostgreSQL.
 */
const commit = process.argv.find((word) => word.startsWith('--commit='))?.slice('--commit='.length) ?? 'e53e4a06'
const reads = ['/projects', '/deployments', '/notifications/deliveries', '/notifications/channels', '/audit-log', '/backup-runs']
const problems: string[] = []
const rows: string[][] = []

process.env.BERTH_TEST_POSTGRES_URL ??= partOf('postgres')
await using old = await buildVersion(commit)
await using folder = await temporary()
const database = await emptyDatabase()
const localPath = join(folder.path, 'app')
await writeApp(localPath, serving('served'))
const env = {
  ...settingsFor('process'),
  ...ownerSettings,
  BERTH_DATABASE_URL: database.settings.url!,
  BERTH_SECRET_KEY: randomBytes(32).toString('hex'),
  BERTH_JOB_LEASE_SECONDS: '5',
  BERTH_PROJECT_ROOTS: folder.path,
  BERTH_RATE_LIMIT_SCALE: '1000',
}
const dataFolder = join(folder.path, 'worker')
await mkdir(dataFolder)
try {
  await run()
} catch (error) {
  problems.push(`${(error as Error).stack}`)
} finally {
  await database.close()
}
console.log(table(['phase', 'through', 'steps'], rows))
for (const problem of problems) console.error(`FAILED: ${problem}`)
if (problems.length > 0) process.exitCode = 1

async function run(): Promise<void> {
  await using worker = await old.startBerth({ dataFolder, env: { ...env, BERTH_ROLE: 'worker' } })
  const apiEnv = { ...env, BERTH_ROLE: 'api', BERTH_WORKER_URL: worker.url, BERTH_EDGE_PORT: new URL(worker.edgeUrl).port }
  await using oldApi = await old.startBerth({ env: apiEnv })
  const token = await signIn(oldApi.url)
  await exercise(`worker and API process of ${commit}`, { [commit]: oldApi }, worker, token)

  const before = await appliedTo(database)
  const newApi = startBerth({ env: apiEnv, readyWithinMs: 300_000 })
  await pause(5_000)
  if ((await appliedTo(database)) !== before) problems.push('the newer API process migrated the database under the older worker')

  // As if a command of the newer version had migrated the database: the older processes keep running.
  const migrated: Database = await openDatabase({ url: database.settings.url!, folder: folder.path })
  await migrated.close()
  await using api = await newApi
  const both = { [commit]: oldApi, 'this version': api }
  await exercise(`worker of ${commit}, migrated`, both, worker, token)

  await worker.stop()
  const { port } = new URL(worker.url)
  const newEnv = { ...env, BERTH_ROLE: 'worker', BERTH_PORT: port, BERTH_EDGE_PORT: new URL(worker.edgeUrl).port }
  await using newWorker = await startBerth({ dataFolder, env: newEnv })
  await exercise('worker of this version', both, newWorker, token)
  await sameLists(both, token)
  const refused = await oldApi.restart().then(
    () => 'started',
    (error: Error) => error.message.match(/The database has schema .*/)?.[0] ?? error.message,
  )
  rows.push(['an older API process that starts again', commit, refused])
}

async function temporary() {
  const { path, remove } = await tempFolder('two-versions')
  return { path, [Symbol.asyncDispose]: remove }
}

/** Opens a new database that neither version has migrated. */
async function emptyDatabase(): Promise<TestDatabase> {
  const made = await openTestDatabase({ kind: 'postgres' })
  await made.db.schema.dropSchema('public').cascade().execute()
  await made.db.schema.createSchema('public').execute()
  return made
}

async function appliedTo({ db }: Database): Promise<number> {
  const tables = await db.introspection.getTables()
  if (!tables.some(({ name }) => name === 'schemaMigrations')) return 0
  const applied = await db
    .selectFrom('schemaMigrations' as 'jobs')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(applied.count) === migrations.length ? migrations.length : Number(applied.count)
}

/** Reads, writes, a deployment and a backup through each API process. */
async function exercise(phase: string, apis: Record<string, Berth>, worker: Berth, token: string): Promise<void> {
  for (const [name, api] of Object.entries(apis)) {
    const done: string[] = []
    try {
      for await (const step of stepsOf(api, worker, token)) done.push(step)
    } catch (error) {
      problems.push(`${phase}, through ${name}, after ${done.join(', ')}: ${(error as Error).message}`)
    }
    rows.push([phase, name, done.join(', ')])
  }
}

async function* stepsOf(api: Berth, worker: Berth, token: string): AsyncGenerator<string> {
  const request = requestsTo(api, token)
  const unique = randomBytes(4).toString('hex')
  const volumes = [{ name: 'data', mountPath: '/data' }]
  const project = await request('POST', '/projects', 201, { name: `Project ${unique}`, localPath, volumes })
  await request('PATCH', `/projects/${project.id}/env`, 200, { upserts: [{ key: 'NAME', value: unique, isSecret: true }] })
  await request('POST', '/tokens', 201, { name: unique })
  yield 'writes'
  const { deploymentId } = await request('POST', '/deployments/build/access', 202, { projectId: project.id })
  const deployment = await ended(() => request('GET', `/deployments/${deploymentId}`, 200))
  if (deployment.status !== 'live') throw new Error(`the deployment is ${deployment.status}: ${deployment.error?.message}`)
  const page = await getPage(worker.edgeUrl, `${project.slug}.localhost`, '/')
  if (page.text !== 'served') throw new Error(`the project answered ${page.status}`)
  yield 'deployment'
  const destination = await request('POST', '/backup-destinations', 201, {
    name: unique,
    kind: 'local',
    config: { path: unique },
  })
  const policy = await request('POST', `/projects/${project.id}/backup-policies`, 201, { destinationId: destination.id })
  const { runId } = await request('POST', `/backup-policies/${policy.id}/run`, 202, {})
  const backup = await ended(() => request('GET', `/backup-runs/${runId}`, 200))
  if (backup.status !== 'succeeded') throw new Error(`the backup is ${backup.status}: ${backup.error?.message}`)
  yield 'backup'
  for (const path of reads) await request('GET', path, 200)
  for (const path of ['', '/info', '/deployments', '/env', '/domains'])
    await request('GET', `/projects/${project.id}${path}`, 200)
  const listed = (await request('GET', '/deployments?limit=5', 200)) as { id: string }[]
  if (!listed.some(({ id }) => id === deploymentId)) throw new Error('GET /deployments does not list the deployment')
  yield 'reads'
}

/** Lists that both versions show must name the same objects. */
async function sameLists(apis: Record<string, Berth>, token: string): Promise<void> {
  for (const path of reads) {
    const lists = await Promise.all(Object.values(apis).map((api) => requestsTo(api, token)('GET', path, 200)))
    const ids = lists.map((list: { id: string }[]) => list.map(({ id }) => id).join(' '))
    if (new Set(ids).size !== 1) problems.push(`${path} differs between the versions: ${ids.join(' | ')}`)
  }
}

function requestsTo({ url }: Berth, token: string) {
  return async (method: string, path: string, expected: number, body?: unknown) => {
    const headers = { authorization: `Bearer ${token}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) }
    const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
    const response = await fetch(`${url}/api${path}`, init)
    const text = await response.text()
    if (response.status !== expected) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 300)}`)
    return JSON.parse(text).data
  }
}

async function ended(read: () => Promise<{ status: string; error?: { message: string } }>) {
  for (;;) {
    const found = await read()
    if (['succeeded', 'failed', 'cancelled', 'server_error'].includes(found.status)) return found
    if (['live', 'superseded'].includes(found.status) && isOver(found as never)) return found
    await pause(200)
  }
}
