import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { EmbeddedEdge } from '../packages/server/src/drivers/edge/embedded-edge.ts'
import { freePorts } from '../tests/kit/free-port.ts'
import { tempFolder } from '../tests/kit/temp-folder.ts'
import { cores, favour, pin, processorSeconds, programAt, putWrkOn } from './edge-load.ts'
import { originServer, startNginx } from './kit/nginx.ts'
import { memoryOf } from './kit/process-memory.ts'
import { megabytes, ratio, table } from './kit/table.ts'

/**
 * Compares the embedded edge with nginx (one worker): both proxy the same upstream on the same core, alternately, with the load
 * and the upstream on another core. Prints requests per second, requests per second of CPU time (which other load on the
 * machine disturbs less), the p99 at half of the edge's own load, and the edge's memory over many requests.
 */
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '64' },
    requests: { type: 'string', default: '200000' },
    favoured: { type: 'boolean', default: false },
    entry: { type: 'string', default: join(import.meta.dirname, '../packages/server/dist/edge.js') },
  },
})
const seconds = Number(values.seconds)
const rounds = Number(values.rounds)
const connections = Number(values.connections)
if (!programAt('nginx') || !programAt('wrk')) throw new Error('nginx and wrk have to be installed')

await using folder = await tempFolder('bench-edge')
const [originPort, nginxPort, edgePort] = await freePorts(3)
const origin = originServer(originPort!)
const proxy = `upstream u { server 127.0.0.1:${originPort}; keepalive 128; keepalive_requests 1000000000; }
  server { listen 127.0.0.1:${nginxPort}; location / { proxy_pass http://u; proxy_http_version 1.1; proxy_set_header Connection "";
  proxy_set_header Host $host; proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Proto http;
  proxy_set_header X-Request-Id $request_id; } }`

await pin(process.pid, cores?.around)
await using source = await startNginx({
  name: 'origin',
  port: originPort!,
  servers: origin,
  core: cores?.around,
  folder: folder.path,
})
await using reference = await startNginx({
  name: 'proxy',
  port: nginxPort!,
  servers: proxy,
  core: cores?.measured,
  folder: folder.path,
})
const edge = new EmbeddedEdge({
  folder: join(folder.path, 'edge'),
  http: { host: '127.0.0.1', port: edgePort! },
  buildId: 'bench',
  entry: values.entry,
  orphanExitMs: 10_000,
})
let recorded = 0
let dropped = 0
edge.onRequests((batch, lost) => {
  recorded += batch.length
  dropped += lost
})
try {
  await edge.start()
  const edgePid = Number(await readFile(join(folder.path, 'edge', 'edge.lock'), 'utf8'))
  await pin(edgePid, cores?.measured)
  const upstreams = [{ id: 'u', host: '127.0.0.1', port: originPort! }]
  await edge.apply({
    version: 1,
    hosts: {
      '127.0.0.1': { environment: 'production', target: { kind: 'upstreams', projectId: 'p', deploymentId: 'd', upstreams } },
    },
  })
  const idle = (await memoryOf(edgePid))!
  const nginxPid = await workerOf(reference.pid)
  if (values.favoured) for (const pid of [edgePid, reference.pid, source.pid, process.pid]) await favour(pid)
  const throughput = await compareThroughput(nginxPid, edgePid)
  await compareLatency(throughput.edge / 2)
  await watchMemory(edgePid, idle)
  console.log(`\nrecords received ${recorded}, dropped ${dropped}`)
} finally {
  await edge.stop({ keepServing: false, graceMs: 500 })
}

/** Returns the pid of nginx's worker process. */
async function workerOf(master: number): Promise<number> {
  return Number((await readFile(`/proc/${master}/task/${master}/children`, 'utf8')).trim().split(' ')[0])
}

async function turn(port: number, pid: number) {
  const before = await processorSeconds(pid)
  const result = await putWrkOn({ url: `http://127.0.0.1:${port}/`, connections, seconds, folder: folder.path })
  if (result.errors > 0) throw new Error(`${result.errors} requests failed`)
  return { perSecond: result.requestsPerSecond, perProcessorSecond: result.requests / ((await processorSeconds(pid)) - before) }
}

async function compareThroughput(nginxPid: number, edgePid: number) {
  const best = { nginx: { perSecond: 0, perProcessorSecond: 0 }, edge: { perSecond: 0, perProcessorSecond: 0 } }
  // The first turn of each warms it up and does not count.
  for (let round = 0; round <= rounds; round += 1) {
    for (const [name, port, pid] of [
      ['nginx', nginxPort!, nginxPid],
      ['edge', edgePort!, edgePid],
    ] as const) {
      const { perSecond, perProcessorSecond } = await turn(port, pid)
      if (round === 0) continue
      best[name].perSecond = Math.max(best[name].perSecond, perSecond)
      best[name].perProcessorSecond = Math.max(best[name].perProcessorSecond, perProcessorSecond)
    }
  }
  const rows = (['nginx', 'edge'] as const).map((name) => {
    const { perSecond, perProcessorSecond } = best[name]
    return [
      name,
      perSecond,
      ratio(perSecond, best.nginx.perSecond),
      perProcessorSecond,
      ratio(perProcessorSecond, best.nginx.perProcessorSecond),
    ]
  })
  console.log(table(['proxy, best of rounds', 'requests/s', 'of nginx', 'requests/cpu s', 'of nginx'], rows))
  return { edge: best.edge.perSecond }
}

async function compareLatency(rate: number) {
  const ports = { direct: originPort!, nginx: nginxPort!, edge: edgePort! }
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
async function watchMemory(pid: number, idle: { rssBytes: number; pssBytes: number }) {
  const total = Number(values.requests)
  let sent = 0
  let warm: number | undefined
  while (sent < total) {
    sent += (await putWrkOn({ url: `http://127.0.0.1:${edgePort}/`, connections, seconds, folder: folder.path })).requests
    if (sent >= total / 5) warm ??= (await memoryOf(pid))!.rssBytes
  }
  const end = (await memoryOf(pid))!.rssBytes
  const rows = [
    ['idle (shared pages divided)', 0, megabytes(idle.pssBytes), ''],
    ['idle', 0, megabytes(idle.rssBytes), ''],
    ['a fifth', Math.round(total / 5), megabytes(warm!), ratio(warm!, warm!)],
    ['end', sent, megabytes(end), ratio(end, warm!)],
  ]
  console.log(`\n${table(['memory of the edge', 'requests', 'resident', 'of a fifth'], rows)}`)
}
