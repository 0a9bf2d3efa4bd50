import { readFile } from 'node:fs/promises'
import http from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { nginxDriver } from '../packages/server/src/drivers/edge/edge-fixture.ts'
import { findMaster, workersOf } from '../packages/server/src/drivers/edge/nginx/nginx-process.ts'
import type { EdgeHost, EdgeRule, EdgeTable } from '../packages/server/src/edge-proxy/protocol/edge-table.ts'
import { freePorts } from '../tests/kit/free-port.ts'
import { tempFolder } from '../tests/kit/temp-folder.ts'
import { cores, pin, processorSeconds, programAt, putWrkOn } from './edge-load.ts'
import { median } from './kit/median.ts'
import { originServer, startNginx } from './kit/nginx.ts'
import { ratio, table } from './kit/table.ts'

/**
 * node bench/nginx-edge.ts: Berth's nginx beside a hand-written configuration of the same route, alternately, one worker each on the same
 * core; then reloads with many projects of three rules each under constant load. Ends with 1 if a request fails, a reload takes two
 * seconds, or the throughput is below 0.95.
 */
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '5' },
    projects: { type: 'string', default: '1000' },
    reloads: { type: 'string', default: '10' },
  },
})
const [seconds, rounds, projects, reloads] = [values.seconds, values.rounds, values.projects, values.reloads].map(Number) as [
  number,
  number,
  number,
  number,
]
const nginx = programAt('nginx')
if (!nginx || !programAt('wrk')) throw new Error('nginx and wrk have to be installed')

await using folder = await tempFolder('bench-nginx')
const [originPort, handPort, berthPort, secondPort] = (await freePorts(4)) as [number, number, number, number]
/** The form of nginx's documentation, with the access log that nginx has by default. */
const handWritten = `upstream u { server 127.0.0.1:${originPort}; keepalive 64; }
  server { listen 127.0.0.1:${handPort}; access_log ${join(folder.path, 'hand.log')}; location / { proxy_pass http://u;
  proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host; proxy_set_header X-Real-IP $remote_addr;
  proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; proxy_set_header X-Forwarded-Proto $scheme; } }`
const common = { folder: folder.path }
await using _source = await startNginx({
  ...{ name: 'origin', port: originPort, core: cores?.around, ...common },
  servers: `${originServer(originPort)} ${originServer(secondPort)}`,
})
await using reference = await startNginx({ name: 'hand', port: handPort, servers: handWritten, core: cores?.measured, ...common })
const address = { host: '127.0.0.1', port: berthPort }
const edge = nginxDriver(folder.path, nginx, { http: address, orphanExitMs: 10_000, nginxWorkers: 1 })

const rules = (at: number): EdgeRule[] => [
  { id: `ban${at}`, kind: 'ban', enabled: true, config: { ips: ['203.0.113.0/24'], userAgents: ['evil'] } },
  { id: `methods${at}`, kind: 'allow-deny', enabled: true, pathPrefix: '/admin', config: { methods: ['GET'] } },
  { id: `limit${at}`, kind: 'rate-limit', enabled: true, config: { requests: 1_000_000, windowSeconds: 60 } },
]
const host = (id: string, port: number, own: EdgeRule[] = []): EdgeHost => ({
  environment: 'production',
  rules: own,
  target: {
    kind: 'upstreams',
    projectId: `p${id}`,
    deploymentId: `d${id}`,
    upstreams: [{ id: `u${id}-${port}`, host: '127.0.0.1', port }],
  },
})
let version = 0
const apply = (hosts: EdgeTable['hosts']) => edge.apply({ version: ++version, hosts })

const statusOf = (name: string, agent: http.Agent | false): Promise<number> =>
  new Promise((resolve, reject) => {
    const options = { ...address, headers: { host: name }, agent }
    http.get(options, (response) => response.resume().once('end', () => resolve(response.statusCode!))).once('error', reject)
  })

try {
  await edge.start()
  const share = await compareThroughput()
  const { slowestMs, failed } = await reloadUnderLoad()
  process.exitCode = share >= 0.95 && slowestMs < 2_000 && failed === 0 ? 0 : 1
} finally {
  await edge.stop({ keepServing: false, graceMs: 500 })
}

async function turn(port: number, pid: number) {
  const before = await processorSeconds(pid)
  const result = await putWrkOn({ url: `http://127.0.0.1:${port}/`, connections: 64, seconds, folder: folder.path })
  if (result.errors > 0) throw new Error(`${result.errors} requests failed`)
  return { perSecond: result.requestsPerSecond, perProcessorSecond: result.requests / ((await processorSeconds(pid)) - before) }
}

async function compareThroughput(): Promise<number> {
  await apply({ '127.0.0.1': host('', originPort) })
  const workers = {
    'by hand': await workerOf(reference.pid),
    Berth: await workerOf((await findMaster(join(folder.path, 'nginx')))!),
  }
  await pin(workers.Berth, cores?.measured)
  const ports = { 'by hand': handPort, Berth: berthPort }
  const best = { 'by hand': { perSecond: 0, perProcessorSecond: 0 }, Berth: { perSecond: 0, perProcessorSecond: 0 } }
  // The first turn of each warms it up and does not count.
  for (let round = 0; round <= rounds; round += 1) {
    for (const name of ['by hand', 'Berth'] as const) {
      const { perSecond, perProcessorSecond } = await turn(ports[name], workers[name])
      if (round === 0) continue
      best[name].perSecond = Math.max(best[name].perSecond, perSecond)
      best[name].perProcessorSecond = Math.max(best[name].perProcessorSecond, perProcessorSecond)
    }
  }
  const rows = (['by hand', 'Berth'] as const).map((name) => [
    name,
    best[name].perSecond,
    ratio(best[name].perSecond, best['by hand'].perSecond),
    best[name].perProcessorSecond,
    ratio(best[name].perProcessorSecond, best['by hand'].perProcessorSecond),
  ])
  console.log(table(['nginx, best of rounds', 'requests/s', 'ratio', 'requests/cpu s', 'ratio'], rows))
  return best.Berth.perProcessorSecond / best['by hand'].perProcessorSecond
}

async function workerOf(master: number): Promise<number> {
  return (await workersOf(master)).find(({ isEnding }) => !isEnding)!.pid
}

async function reloadUnderLoad() {
  const hosts: EdgeTable['hosts'] = {}
  for (let at = 0; at < projects; at += 1) hosts[`p${at}.test`] = host(String(at), originPort, rules(at))
  const begun = performance.now()
  await apply(hosts)
  const firstMs = performance.now() - begun
  const load = keepRequesting(['p0.test', 'p1.test', 'p2.test', 'p3.test'])
  const tookMs: number[] = []
  for (let round = 0; round < reloads; round += 1) {
    const started = performance.now()
    await apply({ ...hosts, 'p0.test': host('0', round % 2 ? originPort : secondPort, rules(0)) })
    tookMs.push(performance.now() - started)
  }
  const { requests, failures } = await load.stop()
  const slowestMs = Math.max(firstMs, ...tookMs)
  const config = await readFile(join(folder.path, 'nginx/active/hosts.conf'))
  console.log(
    table(
      ['projects', 'rules', 'configuration', 'first ms', 'median cutover ms', 'slowest ms', 'requests meanwhile', 'failed'],
      [
        [
          projects,
          3 * projects,
          `${Math.round(config.length / 1024)} KiB`,
          Math.round(firstMs),
          Math.round(median(tookMs)),
          Math.round(Math.max(...tookMs)),
          requests,
          failures.length,
        ],
      ],
    ),
  )
  for (const failure of new Set(failures)) console.log(failure)
  return { slowestMs, failed: failures.length }
}

/** Requests over kept connections and over new ones, with short pauses, until `stop`. */
function keepRequesting(names: string[]) {
  const agent = new http.Agent({ keepAlive: true })
  const failures: string[] = []
  let requests = 0
  let isStopped = false
  const loops = names.flatMap((name) =>
    [agent, false as const].map(async (used) => {
      while (!isStopped) {
        requests += 1
        const status = await statusOf(name, used).catch((error: Error) => error.message)
        if (status !== 200) failures.push(`${name}: ${status}`)
        await pause(5)
      }
    }),
  )
  return {
    async stop() {
      isStopped = true
      await Promise.all(loops)
      agent.destroy()
      return { requests, failures }
    },
  }
}
