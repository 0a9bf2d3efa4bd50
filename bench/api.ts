import { parseArgs } from 'node:util'
import { startBerth } from '../tests/kit/start-berth.ts'
import { type LoadOptions, putLoadOn } from './kit/load.ts'
import { cpuMsOf } from './kit/process-cpu.ts'
import { memoryOfTree } from './kit/process-memory.ts'
import { startReferenceServer } from './kit/reference-server.ts'
import { megabytes, ratio, table } from './kit/table.ts'

/**
 * The built server with 200 projects beside a bare Fastify reply of the same size: requests per second and p99 of both, one
 * after the other in short turns, so that what else the machine does hits both alike. Also memory at rest and time to ready.
 */
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '3' },
    projects: { type: 'string', default: '200' },
  },
})
const seconds = Number(values.seconds)
const rounds = Number(values.rounds)
const wrk = process.env.BERTH_TEST_WRK
const admin = { BERTH_ADMIN_EMAIL: 'bench@example.test', BERTH_ADMIN_PASSWORD: 'bench password' }

await using berth = await startBerth({ env: { ...admin, BERTH_LOG_LEVEL: 'warn', BERTH_RATE_LIMIT_SCALE: '1000' } })
const { token, cookie } = await signIn()
const projectId = await makeProjects(Number(values.projects))

// The database is migrated and full now: this is what a user's restart takes.
await berth.stop()
const began = performance.now()
await berth.restart()
const readyMs = performance.now() - began
await new Promise((resolve) => setTimeout(resolve, 5_000))
const memory = await memoryOfTree(berth.pid)

const bearer = { authorization: `Bearer ${token}` }
const reads = [
  { name: 'a session (cookie)', path: '/api/auth/session', headers: { cookie } },
  { name: 'a session (token)', path: '/api/auth/session', headers: bearer },
  { name: 'the tokens', path: '/api/tokens', headers: bearer },
  { name: 'a project', path: `/api/projects/${projectId}`, headers: bearer },
]
const rows: (string | number)[][] = []
for (const { name, path, headers } of reads) {
  const url = berth.url + path
  const answer = await fetch(url, { headers })
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}`)
  await using reference = await startReferenceServer(await answer.text())
  const best = { ours: 0, bare: 0, oursP99: Infinity, bareP99: Infinity, oursCpu: Infinity, bareCpu: Infinity }
  for (let round = 0; round < rounds; round++) {
    const bare = await measured(reference.pid, { url: reference.url, connections: 32, seconds, wrk })
    const ours = await measured(berth.pid, { url, headers, connections: 32, seconds, wrk })
    best.oursCpu = Math.min(best.oursCpu, ours.cpuMicroseconds)
    best.bareCpu = Math.min(best.bareCpu, bare.cpuMicroseconds)
    best.ours = Math.max(best.ours, ours.requestsPerSecond)
    best.bare = Math.max(best.bare, bare.requestsPerSecond)
    best.oursP99 = Math.min(best.oursP99, ours.p99Ms)
    best.bareP99 = Math.min(best.bareP99, bare.p99Ms)
  }
  rows.push([
    name,
    Math.round(best.ours),
    Math.round(best.bare),
    ratio(best.ours, best.bare),
    best.oursP99.toFixed(1),
    best.bareP99.toFixed(1),
    Math.round(best.oursCpu),
    Math.round(best.bareCpu),
    ratio(best.bareCpu, best.oursCpu),
  ])
}
console.log(
  table(['reading', 'ours /s', 'bare /s', 'ratio', 'our p99 ms', 'bare p99 ms', 'our CPU µs', 'bare CPU µs', 'CPU ratio'], rows),
)
console.log(
  `at rest: ${megabytes(memory.rssBytes)} resident, ${megabytes(memory.pssBytes)} proportional, in ${memory.processes.length} processes`,
)
console.log(`ready ${Math.round(readyMs)} ms after the start (migrated database, ${values.projects} projects)`)

/** The load, and the processor time that one request cost the server. */
async function measured(pid: number, load: LoadOptions) {
  const before = await cpuMsOf(pid)
  const result = await putLoadOn(load)
  if (result.errors > 0) throw new Error(`${load.url}: ${result.errors} of ${result.requests} requests failed`)
  return { ...result, cpuMicroseconds: ((await cpuMsOf(pid)) - before) * (1000 / result.requests) }
}

async function signIn() {
  const login = await fetch(`${berth.url}/api/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: admin.BERTH_ADMIN_EMAIL, password: admin.BERTH_ADMIN_PASSWORD }),
  })
  const cookie = login.headers.getSetCookie()[0]?.split(';')[0] as string
  const made = await fetch(`${berth.url}/api/tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', cookie, origin: berth.url },
    body: JSON.stringify({ name: 'bench' }),
  })
  const { data } = (await made.json()) as { data: { token: string } }
  return { token: data.token, cookie }
}

async function makeProjects(count: number): Promise<string> {
  let id = ''
  for (let at = 0; at < count; at++) {
    const made = await fetch(`${berth.url}/api/projects`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({
        name: `Project ${at}`,
        gitUrl: `https://git.example.test/acme/project-${at}.git`,
        framework: 'nextjs',
      }),
    })
    if (made.status !== 201) throw new Error(`a project was not made: ${await made.text()}`)
    id = ((await made.json()) as { data: { id: string } }).data.id
  }
  return id
}
