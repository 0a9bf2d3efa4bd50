import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { instanceProcesses } from '../tests/kit/instance-processes.ts'
import type { startBerth as StartBerth } from '../tests/kit/start-berth.ts'
import { runWrk } from '../tests/kit/wrk.ts'
import { benchAdmin } from './kit/api-reads.ts'
import { median } from './kit/median.ts'
import { cpuSecondsOfInstance } from './kit/process-cpu.ts'
import { memoryOf, type ProcessMemory, residentBytesOfInstance } from './kit/process-memory.ts'
import { type ReferenceServer, startReferenceServer, startWriteFloor } from './kit/reference-server.ts'
import { megabytes, table } from './kit/table.ts'
import { addHistory, makeScene, type TableScene } from './kit/table-scene.ts'

/**
 * node bench/api-table.ts [other tree…]: compares lists, single reads and writes of the API with a floor: a bare Fastify reply of the
 * same bytes, and for writes a server that only commits a row to SQLite with the same durability. The trees (this one and others, all
 * built) and the floor are loaded in turns. Prints requests per second, and CPU time per request, which depends less on other load.
 * `--repetitions=10` then repeats the whole load that often, and prints the memory of the API process and the worker each time.
 * BERTH_BENCH_POSTGRES_URL, with an empty database for each tree (separated by spaces), selects PostgreSQL.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '3' },
    projects: { type: 'string', default: '200' },
    only: { type: 'string', default: '' },
    repetitions: { type: 'string', default: '0' },
    profile: { type: 'string' },
  },
})
const seconds = Number(values.seconds)
const program = process.env.BERTH_TEST_WRK ?? 'wrk'
const folder = await mkdtemp(join(tmpdir(), 'berth-api-table-'))
const databases = process.env.BERTH_BENCH_POSTGRES_URL?.split(' ')
const trees = [join(import.meta.dirname, '..'), ...positionals.map((tree) => resolve(tree))]

interface Side {
  name: string
  scene: TableScene
  url: string
  pid: number
}

interface Measured {
  perSecond: number
  cpuMicroseconds: number
}

interface Row {
  name: string
  path(scene: TableScene): string
  /** The Lua script with which wrk makes the requests; a plain read needs none. */
  script?(side: Side): string
  isWrite?: true
  /** Commits per second beside the load. */
  commits?: number
}

const project = ({ projectId }: TableScene) => `/api/projects/${projectId}`
const rows: Row[] = [
  { name: 'GET session', path: () => '/api/auth/session' },
  { name: 'GET project', path: project },
  { name: 'list of 200 projects', path: () => '/api/projects?limit=200' },
  { name: 'list of 50 deployments', path: (scene) => `${project(scene)}/deployments` },
  { name: 'list of 50 deliveries', path: () => '/api/notifications/deliveries' },
  { name: 'audit log, 100 entries', path: () => '/api/audit-log' },
  { name: 'GET env, 11 variables', path: (scene) => `${project(scene)}/env` },
  { name: 'categories', path: () => '/api/notifications/categories' },
  { name: 'random projects', path: project, script: randomReads },
  { name: 'random projects, 20 commits/s', path: project, script: randomReads, commits: 20 },
  { name: 'random projects, 100 commits/s', path: project, script: randomReads, commits: 100 },
  { name: 'PATCH env, one variable', path: (scene) => `${project(scene)}/env`, script: patches, isWrite: true },
]

await using stack = new AsyncDisposableStack()
stack.defer(() => rm(folder, { recursive: true, force: true }))
const sides = await Promise.all(trees.map(startSide))
const results: (string | number)[][] = []
for (const row of rows.filter(({ name }) => name.includes(values.only))) results.push(...(await measureRow(row)))
console.log(table(['', 'tree', '/s', 'floor /s', 'share', 'CPU µs', 'floor CPU µs', 'CPU share'], results))
await pause(5_000)
for (const { name, pid } of sides)
  console.log(`${name}: ${megabytes(await residentBytesOfInstance(pid))} resident after this load, ${await memoryText(pid)}`)
for (let repetition = 1; repetition <= Number(values.repetitions); repetition++) {
  for (const row of rows) for (const side of sides) await measureSide(row, side)
  await pause(5_000)
  for (const { name, pid } of sides) console.log(`${name}, repetition ${repetition}: ${await memoryText(pid)}`)
}

/** Resident memory of the API process and of the worker. */
async function memoryText(pid: number): Promise<string> {
  const { api, worker } = instanceProcesses(pid)
  const [ofApi, ofWorker] = await Promise.all([memoryOf(api ?? pid), memoryOf(worker ?? pid)])
  const text = (of: ProcessMemory | undefined) => `${megabytes(of?.rssBytes ?? 0)} (proportional ${megabytes(of?.pssBytes ?? 0)})`
  return `API process ${text(ofApi)}, worker ${text(ofWorker)}`
}

async function startSide(tree: string, at: number): Promise<Side> {
  const { startBerth } = (await import(pathToFileURL(join(tree, 'tests/kit/start-berth.ts')).href)) as {
    startBerth: typeof StartBerth
  }
  const url = databases?.[at]
  const env = { BERTH_LOG_LEVEL: 'warn', BERTH_RATE_LIMIT_SCALE: '100000', ...(url ? { BERTH_DATABASE_URL: url } : {}) }
  const berth = stack.use(await startBerth({ env: { ...env, ...benchAdmin } }))
  const scene = await makeScene(berth.url, Number(values.projects))
  await berth.stop()
  await addHistory({ tree, folder: berth.dataFolder, ...(url ? { url } : {}) }, scene.projectId)
  const profiled = `--cpu-prof --cpu-prof-dir=${values.profile}`
  await berth.restart(values.profile ? { NODE_OPTIONS: profiled } : {})
  await pause(5_000)
  return { name: at === 0 ? 'this' : `other ${at}`, scene, url: berth.url, pid: berth.pid }
}

async function measureRow(row: Row): Promise<(string | number)[][]> {
  const [first] = sides as [Side, ...Side[]]
  const answer = await fetch(first.url + row.path(first.scene), { headers: first.scene.headers })
  if (!answer.ok) throw new Error(`${row.name}: ${answer.status} ${await answer.text()}`)
  await using floor = await (row.isWrite ? startWriteFloor : startReferenceServer)(await answer.text())
  const rounds: Measured[][] = []
  for (let round = -1; round < Number(values.rounds); round += 1) {
    const measured = [await measureFloor(row, floor)]
    for (const side of sides) measured.push(await measureSide(row, side))
    if (round >= 0) rounds.push(measured)
  }
  const of = (at: number, field: keyof Measured) => median(rounds.map((round) => round[at]![field]))
  const share = (at: number) => median(rounds.map((round) => round[at]!.perSecond / round[0]!.perSecond))
  const cpuShare = (at: number) => median(rounds.map((round) => round[0]!.cpuMicroseconds / round[at]!.cpuMicroseconds))
  return sides.map(({ name }, index) => {
    const at = index + 1
    const cells = [of(at, 'perSecond'), of(0, 'perSecond'), share(at).toFixed(3)]
    const line = [row.name, name, ...cells, of(at, 'cpuMicroseconds'), of(0, 'cpuMicroseconds'), cpuShare(at).toFixed(3)]
    console.error(line.join('  '))
    return line
  })
}

function measureFloor(row: Row, { pid, url }: ReferenceServer): Promise<Measured> {
  return measure(pid, url, {}, row.isWrite && patches())
}

async function measureSide(row: Row, side: Side): Promise<Measured> {
  const stop = row.commits ? commitSteadily(side, row.commits) : undefined
  const measured = await measure(side.pid, side.url + row.path(side.scene), side.scene.headers, row.script?.(side))
  await stop?.()
  return measured
}

async function measure(pid: number, url: string, headers: Record<string, string>, lua?: string): Promise<Measured> {
  const script = lua ? join(folder, 'load.lua') : undefined
  if (script) await writeFile(script, lua as string)
  const before = await cpuSecondsOfInstance(pid)
  const { requests, requestsPerSecond, errors } = await runWrk({ program, url, connections: 32, seconds, headers, script })
  const spent = (await cpuSecondsOfInstance(pid)) - before
  if (errors > 0) throw new Error(`${url}: ${errors} of ${requests} requests failed`)
  return { perSecond: requestsPerSecond, cpuMicroseconds: (spent * 1e6) / requests }
}

function randomReads({ scene: { projectIds } }: Side): string {
  const ids = projectIds.map((id) => `"/api/projects/${id}"`).join(',')
  return `local paths = {${ids}}\nfunction request() return wrk.format("GET", paths[math.random(#paths)]) end\n`
}

function patches(): string {
  const body = String.raw`"{\"upserts\":[{\"key\":\"NAME_1\",\"value\":\"value " .. count .. "\"}]}"`
  return `local count = 0
function request()
  count = count + 1
  return wrk.format("PATCH", nil, { ["content-type"] = "application/json", ["authorization"] = wrk.headers["authorization"] }, ${body})
end
`
}

/** Changes a variable of one project after the other, a given number of times per second, until it is stopped. */
function commitSteadily({ scene, url }: Side, perSecond: number): () => Promise<void> {
  const headers = { ...scene.headers, 'content-type': 'application/json' }
  let count = 0
  const open = new Set<Promise<unknown>>()
  const commit = () => {
    count += 1
    const body = JSON.stringify({ upserts: [{ key: 'BESIDE', value: `value ${count}` }] })
    const path = `/api/projects/${scene.projectIds[count % scene.projectIds.length]}/env`
    const sent = fetch(url + path, { method: 'PATCH', headers, body }).then((response) => response.arrayBuffer())
    open.add(sent)
    void sent.finally(() => open.delete(sent))
  }
  const timer = setInterval(commit, 1000 / perSecond)
  return async () => {
    clearInterval(timer)
    await Promise.all(open)
  }
}
