import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { tempFolder } from '../tests/kit/temp-folder.ts'
import { makeCertificate, startEdgeOf, startOrigin, startReference, wideLimits } from './edge/contenders.ts'
import { loads, type Measured, turn } from './edge/throughput.ts'
import { cores, pin, programAt } from './edge-load.ts'
import { median } from './kit/median.ts'
import { ratio, table } from './kit/table.ts'

/**
 * Compares this tree's edge with the edge of another tree (`edge-compare.ts <other tree>`, both built) and with nginx: the same
 * origin, the same core, the same load on all of them at once. The result is the ratio of processor seconds per 1,000 requests:
 * other load on the machine slows all down equally. `--load` names another load of `edge/throughput.ts`, `--apart` loads them
 * alternately, `--profile <folder>` writes a V8 profile of each edge; a median below `--at-least` fails.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '15' },
    connections: { type: 'string', default: '64' },
    bytes: { type: 'string', default: '1024' },
    load: { type: 'string', default: '1 kB reply' },
    apart: { type: 'boolean', default: false },
    profile: { type: 'string' },
    tree: { type: 'string', default: join(import.meta.dirname, '..') },
    'at-least': { type: 'string', default: '0.95' },
  },
})
const [otherTree] = positionals
if (!otherTree) throw new Error('name the tree to compare with: node bench/edge-compare.ts <folder of another, built tree>')
if (!programAt('nginx') || !programAt('wrk')) throw new Error('nginx and wrk have to be installed')
const load = loads[values.load]
if (!load) throw new Error(`--load is one of: ${Object.keys(loads).join('; ')}`)

await using folder = await tempFolder('bench-edge-compare')
const options = { seconds: Number(values.seconds), connections: Number(values.connections), folder: folder.path }
await pin(process.pid, cores?.around)
const pair = await makeCertificate(folder.path)
await using origin = await startOrigin(folder.path, Number(values.bytes))
await using nginx = await startReference(folder.path, origin.port, pair)
await using own = await startEdge('this', resolve(values.tree))
await using other = await startEdge('other', resolve(otherTree))
const contenders = [own, other, nginx]
process.exitCode = (await compare()) >= Number(values['at-least']) ? 0 : 1

async function startEdge(name: string, tree: string) {
  const profiling = values.profile ? ['--cpu-prof', `--cpu-prof-dir=${join(resolve(values.profile), name)}`] : []
  if (values.profile) await mkdir(join(values.profile, name), { recursive: true })
  const flags = ['--max-semi-space-size=8', ...profiling]
  return startEdgeOf({ name, tree, folder: folder.path, originPort: origin.port, pair, flags, limits: wideLimits })
}

/** The median of the rounds' ratios: above 1, this tree's edge costs less than the other's. */
async function compare(): Promise<number> {
  const ratios: number[] = []
  const shares: number[] = []
  const rows: (string | number)[][] = []
  // The first round is warm-up and does not count.
  for (let round = 0; round <= Number(values.rounds); round += 1) {
    const [mine, others, reference] = (values.apart ? await inTurns(round) : await atOnce()) as [Measured, Measured, Measured]
    if (round === 0) continue
    ratios.push(others.cost / mine.cost)
    shares.push(reference.cost / mine.cost)
    const costs = [mine, others, reference].map(({ cost }) => cost.toFixed(4))
    rows.push([`round ${round}`, ...costs, ratio(others.cost, mine.cost), ratio(reference.cost, mine.cost)])
  }
  rows.push(['median', '', '', '', median(ratios).toFixed(3), median(shares).toFixed(3)])
  rows.push(['quartiles', '', '', '', quartiles(ratios), quartiles(shares)])
  console.log(table(['cpu s/1,000 requests', 'this tree', 'the other', 'nginx', 'this/other', 'this/nginx'], rows))
  return median(ratios)
}

function quartiles(numbers: readonly number[]): string {
  const sorted = numbers.toSorted((a, b) => a - b)
  return [0.25, 0.75].map((part) => sorted[Math.floor(part * (sorted.length - 1))]!.toFixed(3)).join(' ')
}

function atOnce(): Promise<Measured[]> {
  return Promise.all(contenders.map((contender) => turn(load!, contender, options)))
}

/** Alternates the order, so that a drift of the machine favours none. */
async function inTurns(round: number): Promise<Measured[]> {
  const results: Measured[] = []
  const order = contenders.map((_, at) => (round % 2 === 0 ? at : contenders.length - 1 - at))
  for (const at of order) results[at] = await turn(load!, contenders[at]!, options)
  return results
}
