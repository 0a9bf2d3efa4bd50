// Kills either side with SIGKILL at every phase of a transfer, in both directions. Each transfer must succeed or be rolled back,
// exactly one side must serve, no data, variable or rule may be lost, and a rolled back transfer must succeed when it is repeated.
// Run on a built product: npx node bench/transfer-kills.ts [--rounds 1] [--runtime process|docker] [--every 1]. With --every n, only
// every n-th kill is done.
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { transferPhases } from '../packages/contract/src/states.ts'
import type { RuntimeKind } from '../tests/kit/runtimes.ts'
import { endOf, type Side, startTwoHostings, type TwoHostings } from '../tests/kit/two-hostings.ts'
import { table } from './kit/table.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '1' },
    runtime: { type: 'string', default: 'process' },
    every: { type: 'string', default: '1' },
  },
})
const phases = transferPhases.filter((phase) => !['done', 'undoing', 'failed'].includes(phase))
const sideNames = ['here', 'cloud'] as const

interface Killing {
  from: Side
  phase: string
  victim: Side
}
/** Some phases last a few milliseconds: a kill that came too late is repeated this many times. */
const maxTries = 3
const rows: string[][] = []
const wrong: string[] = []

const sides = await startTwoHostings({ BERTH_JOB_LEASE_SECONDS: '1' }, { runtime: values.runtime as RuntimeKind })
try {
  const project = await sides.makeKeeper('bench')
  let hashes = [await sides.fill('here', project.slug, 3_000_000)]
  const rules = await rulesOf(sides, 'here', project.id)
  let location: Side = 'here'
  for (let round = 0; round < Number(values.rounds); round += 1) {
    const all = sideNames.flatMap((from) => sideNames.flatMap((victim) => phases.map((phase) => ({ from, victim, phase }))))
    const plan = all.filter((_, at) => at % Number(values.every) === 0)
    const tries = new Map<Killing, number>()
    while (plan.length > 0) {
      const killing = plan.find(({ from }) => from === location)
      if (!killing) {
        location = await cleanMove(sides, project.id, location)
        continue
      }
      const result = await killedAt(sides, project, killing)
      const { from, phase, victim } = killing
      const name = `${from} ${phase} ${victim}`
      rows.push([from, phase, victim, result.seen, result.end, String(result.ms), result.serving.join(' and ') || 'none'])
      console.log(rows.at(-1)?.join(' | '))
      const [only] = result.serving
      if (result.serving.length !== 1 || !only) wrong.push(`${name}: ${result.serving.length} sides serve`)
      const kept = only && (await sides.answerOf(only, project.slug))
      if (JSON.stringify(Object.values(kept?.files ?? {}).sort()) !== JSON.stringify(hashes.toSorted()))
        wrong.push(`${name}: the data is not the same`)
      if (kept?.secret !== 'of bench') wrong.push(`${name}: the variable is not the same`)
      if (only === 'here' && (await rulesOf(sides, 'here', project.id)) !== rules)
        wrong.push(`${name}: the rules are not the same`)
      if (result.end === 'failed' && only !== from) wrong.push(`${name}: rolled back, but the project serves at the target`)
      location = only ?? location
      // A move that was rolled back must succeed when it is repeated.
      if (result.end === 'failed') location = await cleanMove(sides, project.id, location)
      if (phase === 'landing') hashes = [...hashes, await sides.fill(location, project.slug, 100_000)]
      const tried = (tries.get(killing) ?? 0) + 1
      tries.set(killing, tried)
      if (result.seen === phase || tried >= maxTries) plan.splice(plan.indexOf(killing), 1)
    }
  }
} finally {
  await sides[Symbol.asyncDispose]()
}
console.log(table(['from', 'to be killed at', 'killed', 'it was at', 'ended', 'ms', 'serves'], rows))
if (wrong.length > 0) throw new Error(wrong.join('\n'))

async function killedAt(two: TwoHostings, { id, slug }: { id: string; slug: string }, { from, phase, victim }: Killing) {
  const to: Side = from === 'here' ? 'cloud' : 'here'
  const before = (await two.transfer(id))?.id
  void two.move(id, to).catch(() => undefined)
  const seen = await reach(two, id, phase, before)
  const begun = performance.now()
  await two[victim].berth.kill9()
  await pause(300)
  await two[victim].berth.restart()
  const { phase: end } = await endOf(two, id)
  // A job restarts a project that stays.
  const serving = await settled(two, slug)
  return { seen, end, ms: Math.round(performance.now() - begun), serving }
}

async function cleanMove(two: TwoHostings, id: string, from: Side): Promise<Side> {
  const to: Side = from === 'here' ? 'cloud' : 'here'
  const { status, body } = await two.move(id, to)
  if (status !== 200) throw new Error(`the repeated transfer to ${to} failed: ${JSON.stringify(body)}`)
  return to
}

/** Returns the route rules as text for comparison. On a cloud they cannot be read. */
async function rulesOf(two: TwoHostings, side: Side, id: string): Promise<string> {
  const { body } = await two[side].api('GET', `/projects/${id}/route-rules`)
  return JSON.stringify(body.data.map(({ kind, config }: { kind: string; config: object }) => ({ kind, config })))
}

/** Polls without a pause: some phases last a few milliseconds. Returns the phase that was reached. */
async function reach(two: TwoHostings, id: string, phase: string, before: string | undefined): Promise<string> {
  for (;;) {
    const transfer = await two.transfer(id)
    if (!transfer || transfer.id === before) continue
    const at = transferPhases.indexOf(transfer.phase)
    if (at >= transferPhases.indexOf(phase as 'packing')) return transfer.phase
  }
}

/** Keeps polling after the first side serves: the second one must not start serving either. */
async function settled(two: TwoHostings, slug: string): Promise<Side[]> {
  const check = async () => {
    const kept = await Promise.all(sideNames.map(async (side) => ((await two.answerOf(side, slug)) ? side : null)))
    return kept.filter((side) => side !== null)
  }
  for (const giveUpAt = performance.now() + 60_000; ; ) {
    const serving = await check()
    if (serving.length === 1) {
      await pause(1_000)
      return check()
    }
    if (serving.length > 1 || performance.now() > giveUpAt) return serving
    await pause(200)
  }
}
