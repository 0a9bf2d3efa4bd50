import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { tempFolder } from '../tests/kit/temp-folder.ts'
import { type Contender, makeCertificate, startEdgeOf, startOrigin, startReference, wideLimits } from './edge/contenders.ts'
import { idleConnectionKilobytes } from './edge/idle-memory.ts'
import { slowHeaderColumns, slowHeaders } from './edge/slow-headers.ts'
import { compared, loads, measure, throughputColumns } from './edge/throughput.ts'
import { cores, favour, pin, programAt, putWrkOn } from './edge-load.ts'
import { memoryOf } from './kit/process-memory.ts'
import { megabytes, ratio, table } from './kit/table.ts'

/**
 * Compares the embedded edge with nginx (one worker): both proxy the same upstream on the same core, alternately, with the load
 * and the upstream on another core. Prints requests per second and processor seconds per 1,000 requests over http, kept TLS
 * connections, full and resumed handshakes; the p99 at half of the edge's load; memory of idle connections and over many requests;
 * and what an attack of slow headers does to other clients. `--only` selects parts; `--connections-held` and `--attack` set the
 * counts. Other load on the machine hardly disturbs the ratio of processor seconds.
 */
const parts = ['throughput', 'latency', 'memory', 'idle', 'attack'] as const
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '64' },
    requests: { type: 'string', default: '200000' },
    bytes: { type: 'string', default: '1024' },
    'connections-held': { type: 'string', default: '5000' },
    attack: { type: 'string', default: '10000' },
    only: { type: 'string', default: parts.join(',') },
    favoured: { type: 'boolean', default: false },
    tree: { type: 'string', default: join(import.meta.dirname, '..') },
    entry: { type: 'string' },
  },
})
const [seconds, rounds, connections] = [Number(values.seconds), Number(values.rounds), Number(values.connections)]
const selected = new Set(values.only.split(','))
if (!programAt('nginx') || !programAt('wrk')) throw new Error('nginx and wrk have to be installed')

await using folder = await tempFolder('bench-edge')
const options = { seconds, connections, folder: folder.path }
await pin(process.pid, cores?.around)
const pair = await makeCertificate(folder.path)
await using origin = await startOrigin(folder.path, Number(values.bytes))
await using reference = await startReference(folder.path, origin.port, pair)
const shared = { originPort: origin.port, pair, tree: values.tree, folder: folder.path }
const entry = values.entry ? { entry: values.entry } : {}
await using edge = await startEdgeOf({ ...shared, ...entry, name: 'edge', limits: wideLimits })
if (values.favoured) for (const pid of [edge.pid, reference.masterPid, origin.pid, process.pid]) await favour(pid)

const idle = (await memoryOf(edge.pid))!
let edgePerSecond = 10_000
if (selected.has('throughput')) await compareThroughput()
if (selected.has('latency')) await compareLatency(edgePerSecond / 2)
if (selected.has('memory')) await watchMemory()
if (selected.has('idle')) await compareIdleConnections()
if (selected.has('attack')) await compareUnderAttack()
console.log(`\nrecords received ${edge.records.received}, dropped ${edge.records.dropped}`)

async function compareThroughput() {
  const rows: (string | number)[][] = []
  for (const [name, load] of Object.entries(loads)) {
    const [nginx, own] = await measure(load, [reference, edge], rounds, options)
    const row = compared(nginx!, own!)
    if (rows.length === 0) edgePerSecond = Number(row[1])
    rows.push([name, ...row])
  }
  console.log(table(['medians of the rounds', ...throughputColumns], rows))
}

async function compareLatency(rate: number) {
  const ports = { direct: origin.port, nginx: reference.port, edge: edge.port }
  const best: Record<string, { p50Ms: number; p99Ms: number; rate: number }> = {}
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, port] of Object.entries(ports)) {
      const load = { url: `http://127.0.0.1:${port}/`, connections, seconds, rate, folder: folder.path }
      const { p50Ms, p99Ms, requestsPerSecond } = await putWrkOn(load)
      if (!best[name] || p99Ms < best[name].p99Ms) best[name] = { p50Ms, p99Ms, rate: requestsPerSecond }
    }
  }
  const rows = Object.entries(best).map(([name, { p50Ms, p99Ms, rate }]) => [
    name,
    rate,
    p50Ms,
    p99Ms,
    p99Ms - best.direct!.p99Ms,
  ])
  console.log(`\n${table(["at half of the edge's load", 'requests/s', 'p50 ms', 'p99 ms', 'p99 added ms'], rows)}`)
}

/** Memory before, after a fifth of the requests (by then everything is warm) and at the end. */
async function watchMemory() {
  const total = Number(values.requests)
  let sent = 0
  let warm: number | undefined
  while (sent < total) {
    sent += (await putWrkOn({ url: `http://127.0.0.1:${edge.port}/`, connections, seconds, folder: folder.path })).requests
    if (sent >= total / 5) warm ??= (await memoryOf(edge.pid))!.rssBytes
  }
  const end = (await memoryOf(edge.pid))!.rssBytes
  const rows = [
    ['idle (shared pages divided)', 0, megabytes(idle.pssBytes), ''],
    ['idle', 0, megabytes(idle.rssBytes), ''],
    ['a fifth', Math.round(total / 5), megabytes(warm!), ratio(warm!, warm!)],
    ['end', sent, megabytes(end), ratio(end, warm!)],
  ]
  console.log(`\n${table(['memory of the edge', 'requests', 'resident', 'of a fifth'], rows)}`)
}

/** Measures an edge that has served nothing yet: the heap of a busy one has room left. */
async function compareIdleConnections() {
  const count = Number(values['connections-held'])
  const rows: (string | number)[][] = []
  for (const protocol of ['http', 'https'] as const) {
    await using fresh = await startEdgeOf({ ...shared, ...entry, name: `idle-${protocol}`, limits: wideLimits })
    const kilobytes = async (contender: Contender) => (await idleConnectionKilobytes(contender, protocol, count)).toFixed(1)
    rows.push([protocol, count, await kilobytes(reference), await kilobytes(fresh)])
  }
  console.log(`\n${table(['idle connections', 'connections', 'nginx kB each', 'edge kB each'], rows)}`)
}

/** The attacked edge has the limits that it has by default. */
async function compareUnderAttack() {
  await using attacked = await startEdgeOf({ ...shared, ...entry, name: 'attacked' })
  const rows: (string | number)[][] = []
  for (const contender of [reference, attacked]) rows.push(...(await slowHeaders(contender, Number(values.attack), options)))
  console.log(`\n${table(slowHeaderColumns, rows)}`)
}
