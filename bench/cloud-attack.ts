// Attacks a linked pair of instances: hostile bundles, callers who use the link to reach other tenants' data, uploads and projects
// beyond every quota, streams that no client reads, and kill -9 of either side during transfers. Run on a built product:
// npx node bench/cloud-attack.ts [--minutes 20] [--seed 1]. Fails when another tenant is reached or disturbed, when a side answers
// 500, when both sides or neither side serves the transferred project, or when any of its data is lost.
import { parseArgs } from 'node:util'
import { endOf, type Side, startTwoHostings } from '../tests/kit/two-hostings.ts'
import { bundleAttacks } from './kit/cloud-attack/bundles.ts'
import { proxyAttacks } from './kit/cloud-attack/proxy.ts'
import { quotaAttacks } from './kit/cloud-attack/quotas.ts'
import { type Attack, setAttackScene } from './kit/cloud-attack/scene.ts'
import { table } from './kit/table.ts'

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '20' }, seed: { type: 'string', default: String(Date.now() % 1e6) } },
})
const endAt = Date.now() + Number(values.minutes) * 60_000
console.log(`seed ${values.seed}`)

await using sides = await startTwoHostings({
  BERTH_JOB_LEASE_SECONDS: '1',
  BERTH_QUOTA_PROJECTS: '6',
  BERTH_QUOTA_UPLOADS: '8',
  BERTH_QUOTA_ARRIVING_MB: '40',
})
const scene = await setAttackScene(sides, Number(values.seed))
const mover = await sides.makeKeeper('mover')
const hash = await sides.fill('here', mover.slug, 500_000)
const byGreedy = { ...scene, attacker: scene.greedy }
const attacks: Attack[] = [
  ...proxyAttacks(scene, mover),
  ...quotaAttacks(byGreedy),
  ...bundleAttacks(byGreedy, await sides.makeKeeper('packed')),
]
const counts = new Map<string, { times: number; away: number }>()
let location: Side = 'here'
let moves = 0
let kills = 0
let arrived = 0

await Promise.all([...Array.from({ length: 3 }, attackOn), moveOn()])
await scene.checkVictim()
console.log(
  table(
    ['attack', 'times', 'while a side was away'],
    [...counts].map(([name, { times, away }]) => [name, times, away]),
  ),
)
console.log(
  `${moves} moves, ${kills} of them with a kill, ${arrived} answered as done; memory here ${await scene.memory('here')}, cloud ${await scene.memory('cloud')}`,
)
if (scene.wrong.length > 0) throw new Error([...new Set(scene.wrong)].join('\n'))

async function attackOn(): Promise<void> {
  while (Date.now() < endAt) {
    const attack = scene.random.pick(attacks)
    const count = counts.get(attack.name) ?? { times: 0, away: 0 }
    counts.set(attack.name, count)
    count.times += 1
    try {
      await attack.run()
    } catch (error) {
      // An error of a side that was just killed is expected; any other is a finding.
      if (!scene.isAway(error)) scene.wrong.push(`${attack.name}: ${error instanceof Error ? error.message : error}`)
      count.away += 1
    }
  }
}

async function moveOn(): Promise<void> {
  while (Date.now() < endAt) {
    const to: Side = location === 'here' ? 'cloud' : 'here'
    const begun = scene.move(mover.id, to)
    moves += 1
    if (scene.random.below(2) === 0) {
      await scene.pause(scene.random.below(6_000))
      await scene.kill(scene.random.pick(['here', 'cloud'] as const))
      kills += 1
    }
    const answer = await begun
    if (answer.status === 200) arrived += 1
    console.log(new Date().toISOString(), moves, kills, JSON.stringify(answer).slice(0, 150), scene.wrong.length)
    const { phase } = await endOf(sides, mover.id, 240_000).catch((error: Error) => ({ phase: error.message }))
    const serving = await scene.serving(mover.slug)
    if (serving.length !== 1)
      scene.wrong.push(`after a move that ended as ${phase}: ${serving.length} sides serve (${JSON.stringify(answer)})`)
    location = serving[0] ?? location
    const kept = await sides.answerOf(location, mover.slug)
    if (Object.values(kept?.files ?? {}).join() !== hash || kept?.secret !== 'of mover')
      scene.wrong.push(`after a move that ended as ${phase}: the project is not the same`)
    await scene.checkVictim()
  }
}
