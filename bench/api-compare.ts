import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import type { startBerth as StartBerth } from '../tests/kit/start-berth.ts'
import { benchAdmin, signedInReads } from './kit/api-reads.ts'
import { putLoadOn } from './kit/load.ts'
import { median } from './kit/median.ts'
import { cpuSecondsOfInstance } from './kit/process-cpu.ts'
import { startReferenceServer } from './kit/reference-server.ts'
import { table } from './kit/table.ts'

/**
 * Compares this tree's server, the server of another tree (`api-compare.ts <other tree>`, both built) and a bare Fastify reply, all
 * under the same load at once: requests per second of CPU time, as ratios. Other load on the machine slows all of them down
 * equally, so this shows the cost of a change more reliably than requests per second.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '9' },
    connections: { type: 'string', default: '16' },
    projects: { type: 'string', default: '20' },
    tree: { type: 'string', default: join(import.meta.dirname, '..') },
  },
})
const [otherTree] = positionals
if (!otherTree) throw new Error('name the tree to compare with: node bench/api-compare.ts <folder of another, built tree>')
const wrk = process.env.BERTH_TEST_WRK

await using own = await start(values.tree)
await using other = await start(otherTree)
const [ownReads, otherReads] = await Promise.all([own, other].map((berth) => signedInReads(berth, Number(values.projects))))
const rows: (string | number)[][] = []
for (const [at, { name, path, headers }] of ownReads!.entries()) {
  const answer = await fetch(own.url + path, { headers })
  await using bare = await startReferenceServer(await answer.text())
  const theirs = otherReads![at]!
  const loads = [
    { pid: own.pid, url: own.url + path, headers },
    { pid: other.pid, url: other.url + theirs.path, headers: theirs.headers },
    { pid: bare.pid, url: bare.url, headers: {} },
  ]
  const rounds: number[][] = []
  // The first rounds are warm-up and do not count.
  for (let round = -2; round < Number(values.rounds); round += 1) {
    const measured = await Promise.all(loads.map(requestsForCpuSecond))
    if (round >= 0) rounds.push(measured)
  }
  const ratioOf = (one: number, to: number) => median(rounds.map((round) => round[one]! / round[to]!)).toFixed(2)
  rows.push([name, ratioOf(0, 1), ratioOf(0, 2), ratioOf(1, 2)])
}
console.log(table(['requests/cpu s', 'this/other', 'this/bare', 'other/bare'], rows))

async function start(tree: string) {
  const kit = pathToFileURL(join(resolve(tree), 'tests/kit/start-berth.ts')).href
  const { startBerth } = (await import(kit)) as { startBerth: typeof StartBerth }
  return startBerth({ env: { BERTH_LOG_LEVEL: 'warn', BERTH_RATE_LIMIT_SCALE: '1000', ...benchAdmin } })
}

async function requestsForCpuSecond({ pid, url, headers }: { pid: number; url: string; headers: Record<string, string> }) {
  const before = await cpuSecondsOfInstance(pid)
  const load = { url, headers, connections: Number(values.connections), seconds: Number(values.seconds), wrk }
  const { requests, errors } = await putLoadOn(load)
  if (errors > 0) throw new Error(`${url}: ${errors} of ${requests} requests failed`)
  return requests / ((await cpuSecondsOfInstance(pid)) - before)
}
