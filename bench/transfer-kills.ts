// kill -9 of one side at every phase of a move, in both directions: the move ends or is taken back, exactly one side serves, and nothing
// of the data is lost. Run on a built product: npx node bench/transfer-kills.ts [rounds, default 1]. Fails when a round does not converge.
import { setTimeout as pause } from 'node:timers/promises'
import { transferPhases } from '../packages/contract/src/states.ts'
import { endOf, type Side, startTwoHostings, type TwoHostings } from '../tests/kit/two-hostings.ts'
import { table } from './kit/table.ts'

const rounds = Number(process.argv[2] ?? 1)
const phases = transferPhases.filter((phase) => !['done', 'undoing', 'failed'].includes(phase))
const rows: string[][] = []
const wrong: string[] = []

const sides = await startTwoHostings({ BERTH_JOB_LEASE_SECONDS: '1' })
try {
  const project = await sides.makeKeeper('bench')
  let hashes = [await sides.fill('here', project.slug, 3_000_000)]
  let place: Side = 'here'
  for (let round = 0; round < rounds; round += 1)
    for (const phase of phases)
      for (const victim of ['here', 'cloud'] as const) {
        const result = await killedAt(sides, project, { from: place, phase, victim })
        rows.push([place, phase, victim, result.seen, result.end, String(result.ms), result.serving.join(' and ') || 'nobody'])
        const [only] = result.serving
        if (result.serving.length !== 1 || !only) wrong.push(`${place} ${phase} ${victim}: ${result.serving.length} sides serve`)
        const kept = only && Object.values((await sides.kept(only, project.slug))?.files ?? {}).sort()
        if (JSON.stringify(kept) !== JSON.stringify(hashes.toSorted()))
          wrong.push(`${place} ${phase} ${victim}: the data is not the same`)
        place = only ?? place
        if (phase === 'landing') hashes = [...hashes, await sides.fill(place, project.slug, 100_000)]
      }
} finally {
  await sides[Symbol.asyncDispose]()
}
console.log(table(['from', 'killed at', 'killed', 'it was at', 'ended', 'ms', 'serves'], rows))
if (wrong.length > 0) throw new Error(wrong.join('\n'))

interface Killing {
  from: Side
  phase: string
  victim: Side
}

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
  // A project that stays is started again by a job of its own.
  const serving = await settled(two, slug)
  return { seen, end, ms: Math.round(performance.now() - begun), serving }
}

/** Looks without a pause: some phases last a few milliseconds. Gives the phase at which it really was. */
async function reach(two: TwoHostings, id: string, phase: string, before: string | undefined): Promise<string> {
  for (;;) {
    const transfer = await two.transfer(id)
    if (!transfer || transfer.id === before) continue
    const at = transferPhases.indexOf(transfer.phase)
    if (at >= transferPhases.indexOf(phase as 'packing')) return transfer.phase
  }
}

async function settled(two: TwoHostings, slug: string): Promise<Side[]> {
  for (let look = 0; ; look += 1) {
    const kept = await Promise.all((['here', 'cloud'] as const).map(async (side) => ((await two.kept(side, slug)) ? side : null)))
    const serving = kept.filter((side) => side !== null)
    if (serving.length === 1 || look > 100) return serving
    await pause(200)
  }
}
