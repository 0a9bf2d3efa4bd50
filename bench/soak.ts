import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startHosting } from '../tests/kit/hosting.ts'
import { type Chore, chores, type Scene } from './kit/soak/chores.ts'
import { makeFleet } from './kit/soak/fleet.ts'
import { makePolicies } from './kit/soak/policies.ts'
import { report } from './kit/soak/report.ts'
import { Sampler } from './kit/soak/sampler.ts'

/**
 * node bench/soak.ts [--minutes=60]: mixed use of one instance. Ten projects answer a few requests per second through the edge while
 * they are deployed (every 12 s, including failing deployments), backed up, restored, watched and crashed, and others are created and
 * deleted. Memory, file descriptors, processes and disk are sampled every 10 s. Fails when a request is lost, a chore ends with an
 * unexpected result, or a measure grows during the last two thirds. A run under 15 minutes is too short to detect growth.
 */
const { values } = parseArgs({ options: { minutes: { type: 'string', default: '60' } } })
const minutes = Number(values.minutes)
if (!(minutes > 0 && minutes <= 24 * 60)) throw new Error(`--minutes is ${values.minutes}: it must be from 0 to 1440`)

const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort())

await using hosting = await startHosting({ runtime: 'process' })
const fleet = await makeFleet(hosting)
const policies = await makePolicies(hosting, fleet)
const ending = AbortSignal.any([AbortSignal.timeout(minutes * 60_000), stopping.signal])
const scene: Scene = { hosting, fleet, policies, ending }
const problems: string[] = []
const outcomes = new Map<string, Map<string, number>>()
const sampler = new Sampler(hosting.berth.pid, hosting.berth.dataFolder)
console.error(`${fleet.length} projects are live; ${minutes} minutes begin`)

await Promise.all([sampler.run(ending), ...Object.entries(chores).map(([name, chore]) => keepDoing(name, chore))])
await Promise.all(fleet.map(({ traffic }) => traffic.stop()))
const isGood = report({ minutes, fleet, outcomes, problems, sampler })
process.exitCode = isGood ? 0 : 1

/** Begins a round every `everySeconds`, no more than `atOnce` at a time, until the run ends; then waits for those under way. */
async function keepDoing(name: string, { everySeconds, atOnce, run }: Chore): Promise<void> {
  const underWay = new Set<Promise<void>>()
  for (let round = 0; !ending.aborted; round++) {
    if (underWay.size < atOnce) {
      const one = run(scene, round)
        .catch((error: Error) => {
          problems.push(`${new Date().toISOString()} ${name}: ${error.message}`)
          console.error(problems.at(-1))
          return 'problem'
        })
        .then((outcome) => countOutcome(name, outcome))
        .finally(() => underWay.delete(one))
      underWay.add(one)
    } else countOutcome(name, 'skipped: others are under way')
    await pause(everySeconds * 1000, undefined, { signal: ending }).catch(() => undefined)
  }
  await Promise.all(underWay)
}

function countOutcome(name: string, outcome: string): void {
  const counts = outcomes.get(name) ?? new Map<string, number>()
  outcomes.set(name, counts.set(outcome, (counts.get(outcome) ?? 0) + 1))
}
