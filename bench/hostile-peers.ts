// Runs hostile peers, tenants and projects one after the other, each on a new instance, while another caller requests /api/health.
// Run on a built product: npx node bench/hostile-peers.ts [--only part of a name] [--seconds 15]. Fails when the other caller's p99
// exceeds that of a bare server on the same machine by 100 ms or more, when the control plane grows by 60 MB or more, or when a
// scenario does not end within 5 minutes. The scenarios are in bench/hostile-peers/, one file each.
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startHosting } from '../tests/kit/hosting.ts'
import { scenarios } from './hostile-peers/all.ts'
import type { Scenario } from './hostile-peers/scenario.ts'
import { type Watched, watchDuring } from './hostile-peers/watch.ts'
import { table } from './kit/table.ts'

const { values } = parseArgs({ options: { only: { type: 'string', default: '' }, seconds: { type: 'string', default: '15' } } })
const attackMs = Number(values.seconds) * 1000
const [maxP99Ms, maxGrownBytes, scenarioMs] = [100, 60e6, 300_000]

const rows: (string | number)[][] = []
let isGood = true
for (const scenario of scenarios) {
  if (!scenario.name.includes(values.only)) continue
  const { answer, watched } = await runOne(scenario).catch((error: Error) => ({
    answer: `FAILED: ${error.message}`,
    watched: undefined,
  }))
  const isHeld =
    watched !== undefined &&
    watched.p99Ms < maxP99Ms + watched.bareP99Ms &&
    watched.grownBytes < maxGrownBytes &&
    watched.failures === 0
  isGood &&= isHeld
  rows.push([scenario.name, ...figuresOf(watched), isHeld ? 'held' : 'NOT HELD', answer])
  console.log(rows.at(-1)?.join(' | '))
}
console.log(
  table(
    [
      'hostile peer',
      'requests',
      'p50 ms',
      'p99 ms',
      'bare server p99 ms',
      'worst ms',
      'MB more',
      'verdict',
      'how it was answered',
    ],
    rows,
  ),
)
process.exitCode = isGood && rows.length > 0 ? 0 : 1

async function runOne({ env, run }: Scenario): Promise<{ answer: string; watched: Watched | undefined }> {
  await using hosting = await startHosting({ env: env ?? {} })
  const ends: (() => unknown)[] = []
  const over = new AbortController()
  let watched: Watched | undefined
  const watch = async <T>(attack: (until: AbortSignal) => Promise<T>): Promise<T> => {
    const timer = setTimeout(() => over.abort(), attackMs)
    const seen = await watchDuring(hosting, () => attack(over.signal)).finally(() => clearTimeout(timer))
    watched = seen.watched
    return seen.result
  }
  const late = new AbortController()
  const tooLate = pause(scenarioMs, undefined, { signal: late.signal }).then(() => {
    throw new Error(`not over after ${scenarioMs / 1000} s`)
  })
  tooLate.catch(() => {})
  try {
    const answer = await Promise.race([run({ hosting, watch, defer: (end) => ends.push(end) }), tooLate])
    if (!watched) throw new Error('the scenario did not call watch()')
    return { answer, watched }
  } finally {
    late.abort()
    over.abort()
    for (const end of ends.reverse()) await end()
  }
}

function figuresOf(watched: Watched | undefined): (string | number)[] {
  if (!watched) return ['–', '–', '–', '–', '–', '–']
  const { requests, p50Ms, p99Ms, bareP99Ms, worstMs, grownBytes } = watched
  return [requests, ...[p50Ms, p99Ms, bareP99Ms, worstMs].map((ms) => ms.toFixed(1)), Math.round(grownBytes / 1e6)]
}
