import { mkdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import type { EmbeddedEdge as EdgeClass } from '../packages/server/src/drivers/edge/embedded-edge.ts'
import { freePorts } from '../tests/kit/free-port.ts'
import { tempFolder } from '../tests/kit/temp-folder.ts'
import { cores, pin, programAt, putWrkOn } from './edge-load.ts'
import { median } from './kit/median.ts'
import { originServer, startNginx } from './kit/nginx.ts'
import { cpuSecondsOfThreads } from './kit/process-cpu.ts'
import { ratio, table } from './kit/table.ts'

/**
 * Compares this tree's edge with the edge of another tree (`edge-compare.ts <other tree>`, both built): the same origin, the same
 * core, the same load on both at once. The result is the ratio of requests per second of CPU time: other load on the machine slows
 * both down equally. `--apart` loads them alternately; `--profile <folder>` writes a V8 profile of each; a median below
 * `--at-least` fails.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '15' },
    connections: { type: 'string', default: '64' },
    apart: { type: 'boolean', default: false },
    profile: { type: 'string' },
    tree: { type: 'string', default: join(import.meta.dirname, '..') },
    'at-least': { type: 'string', default: '0.95' },
  },
})
const [otherTree] = positionals
if (!otherTree) throw new Error('name the tree to compare with: node bench/edge-compare.ts <folder of another, built tree>')
if (!programAt('nginx') || !programAt('wrk')) throw new Error('nginx and wrk have to be installed')
const seconds = Number(values.seconds)
const rounds = Number(values.rounds)
const connections = Number(values.connections)

await using folder = await tempFolder('bench-edge-compare')
await pin(process.pid, cores?.around)
const [originPort, ownPort, otherPort] = await freePorts(3)
await using _origin = await startNginx({
  name: 'origin',
  port: originPort!,
  servers: originServer(originPort!),
  core: cores?.around,
  folder: folder.path,
})
const own = await startEdge('this', resolve(values.tree), ownPort!)
const other = await startEdge('other', resolve(otherTree), otherPort!)
try {
  const ratios = await compare()
  process.exitCode = median(ratios) >= Number(values['at-least']) ? 0 : 1
} finally {
  for (const { edge } of [own, other]) await edge.stop({ keepServing: false, graceMs: 500 })
}

async function startEdge(name: string, tree: string, port: number) {
  const server = join(tree, 'packages/server')
  const module = await import(pathToFileURL(join(server, 'src/drivers/edge/embedded-edge.ts')).href)
  const profiling = values.profile ? ['--cpu-prof', `--cpu-prof-dir=${join(resolve(values.profile), name)}`] : []
  if (values.profile) await mkdir(join(values.profile, name), { recursive: true })
  const edge: EdgeClass = new module.EmbeddedEdge({
    folder: join(folder.path, name),
    http: { host: '127.0.0.1', port },
    buildId: 'bench',
    entry: join(server, 'dist/edge.js'),
    flags: ['--max-semi-space-size=8', ...profiling],
    orphanExitMs: 10_000,
  })
  await edge.start()
  const pid = Number(await readFile(join(folder.path, name, 'edge.lock'), 'utf8'))
  await pin(pid, cores?.measured)
  const upstreams = [{ id: 'u', host: '127.0.0.1', port: originPort! }]
  const target = { kind: 'upstreams' as const, projectId: 'p', deploymentId: 'd', upstreams }
  await edge.apply({ version: 1, hosts: { '127.0.0.1': { environment: 'production', target } } })
  return { edge, port, pid }
}

async function compare(): Promise<number[]> {
  const ratios: number[] = []
  const rows: (string | number)[][] = []
  // The first round is warm-up and does not count.
  for (let round = 0; round <= rounds; round += 1) {
    const [mine, others] = values.apart ? await inTurns(round % 2 === 0) : await Promise.all([turn(own), turn(other)])
    if (round === 0) continue
    ratios.push(mine / others)
    rows.push([`round ${round}`, mine, others, ratio(mine, others)])
  }
  const sorted = [...ratios].sort((a, b) => a - b)
  rows.push(['median', '', '', median(ratios).toFixed(3)])
  rows.push([
    'quartiles',
    '',
    '',
    [0.25, 0.75].map((part) => sorted[Math.floor(part * (sorted.length - 1))]!.toFixed(3)).join(' '),
  ])
  console.log(table(['requests/cpu s', 'this tree', 'the other', 'this/other'], rows))
  return ratios
}

/** Alternates the order, so that a drift of the machine favours neither. */
async function inTurns(ownFirst: boolean): Promise<[mine: number, others: number]> {
  const first = await turn(ownFirst ? own : other)
  const second = await turn(ownFirst ? other : own)
  return ownFirst ? [first, second] : [second, first]
}

async function turn({ port, pid }: { port: number; pid: number }): Promise<number> {
  const before = await cpuSecondsOfThreads(pid)
  const result = await putWrkOn({ url: `http://127.0.0.1:${port}/`, connections, seconds, folder: folder.path })
  if (result.errors > 0) throw new Error(`${result.errors} requests failed`)
  return result.requests / ((await cpuSecondsOfThreads(pid)) - before)
}
