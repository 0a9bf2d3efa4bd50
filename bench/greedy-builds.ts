import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type BuildName, builds, deployCalmApp, makeBuild, p99 } from '../tests/kit/greedy-builds.ts'
import { startHosting } from '../tests/kit/hosting.ts'
import { requestSteadily } from '../tests/kit/request-steadily.ts'
import { ratio, table } from './kit/table.ts'

/**
 * node bench/greedy-builds.ts [--seconds=10] [--turns=4] [--only=docker] [--only=forks]: measures the p99 of a running app
 * while a build runs, alternating with the same time without a build. Fails if the p99 during a greedy build is more than 1.5
 * times the p99 during a build that does almost nothing. Run it on a quiet machine.
 */
const limit = 1.5
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    turns: { type: 'string', default: '4' },
    only: { type: 'string', multiple: true, default: [] },
  },
})
const isWanted = (...names: string[]) => values.only.every((word) => names.some((name) => name.includes(word)))
const windowMs = Number(values.seconds) * 1000
const turns = Number(values.turns)
const rows: (string | number)[][] = []
const tooSlow: string[] = []
for (const runtime of ['process', 'docker'] as const) {
  const names = (Object.keys(builds) as BuildName[]).filter((name) => isWanted(runtime, name))
  if (names.length === 0) continue
  await using hosting = await startHosting({ runtime })
  const host = await deployCalmApp(hosting)
  await using requests = requestSteadily(hosting.berth.edgeUrl, host)
  let modest = Number.POSITIVE_INFINITY
  for (const name of names) {
    const project = await makeBuild(hosting, name)
    const [quiet, busy]: [number[], number[]] = [[], []]
    let during: number[] = []
    for (let turn = 0; turn < turns; turn++) {
      await requests.take()
      await pause(windowMs)
      quiet.push(...(await requests.take()))
      const begun = performance.now()
      await hosting.settled(await hosting.deploy(project.id))
      const building = await requests.take()
      during = [...during, ...building]
      await pause(Math.max(0, begun + windowMs - performance.now()))
      busy.push(...building, ...(await requests.take()))
    }
    const answers = `${quiet.length} / ${busy.length}`
    rows.push([runtime, name, answers, p99(quiet), p99(busy), ratio(p99(busy), p99(quiet)), p99(during)])
    if (name === 'does nothing much') modest = p99(during)
    else if (p99(during) > limit * modest) tooSlow.push(`${runtime}, a build that ${name}`)
  }
}
console.log(table(['runtime', 'a build that', 'answers', 'quiet p99 ms', 'with the build', 'ratio', 'while it runs'], rows))
if (tooSlow.length > 0) {
  console.error(`p99 beyond ${limit} × that of a modest build: ${tooSlow.join('; ')}`)
  process.exitCode = 1
}
