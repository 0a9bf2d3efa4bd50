import { parseArgs } from 'node:util'
import { startBerth } from '../tests/kit/start-berth.ts'
import { benchAdmin, signedInReads } from './kit/api-reads.ts'
import { type LoadOptions, putLoadOn } from './kit/load.ts'
import { cpuSecondsOfInstance } from './kit/process-cpu.ts'
import { memoryOfTree } from './kit/process-memory.ts'
import { startReferenceServer } from './kit/reference-server.ts'
import { megabytes, ratio, table } from './kit/table.ts'

/**
 * Compares the built server with 200 projects to a bare Fastify reply of the same size: requests per second and p99, measured
 * alternately in short runs, so that other load on the machine affects both equally. Also measures memory at rest and the time
 * until ready.
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

await using berth = await startBerth({ env: { ...benchAdmin, BERTH_LOG_LEVEL: 'warn', BERTH_RATE_LIMIT_SCALE: '1000' } })
const reads = await signedInReads(berth, Number(values.projects))

// Measures a restart as a user has it: with a migrated and filled database.
await berth.stop()
const began = performance.now()
await berth.restart()
const readyMs = performance.now() - began
await new Promise((resolve) => setTimeout(resolve, 5_000))
const memory = await memoryOfTree(berth.pid)

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

/** Requests per second, and the server's CPU time per request. */
async function measured(pid: number, load: LoadOptions) {
  const before = await cpuSecondsOfInstance(pid)
  const result = await putLoadOn(load)
  if (result.errors > 0) throw new Error(`${load.url}: ${result.errors} of ${result.requests} requests failed`)
  return { ...result, cpuMicroseconds: ((await cpuSecondsOfInstance(pid)) - before) * (1e6 / result.requests) }
}
