import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { askSteadily } from '../tests/kit/ask-steadily.ts'
import { type BuildName, builds, deployCalmApp, makeBuild, p99 } from '../tests/kit/greedy-builds.ts'
import { startHosting } from '../tests/kit/hosting.ts'
import { ratio, table } from './kit/table.ts'

/**
 * node bench/greedy-builds.ts [--seconds=10] [--turns=4] [--only=docker] [--only=forks]: what builds do to a running app. Its p99 over some seconds in which a
 * build begins and ends, beside its p99 over the same time before that, turn about.
 */
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
for (const runtime of ['process', 'docker'] as const) {
  const names = (Object.keys(builds) as BuildName[]).filter((name) => isWanted(runtime, name))
  if (names.length === 0) continue
  await using hosting = await startHosting({ runtime })
  const host = await deployCalmApp(hosting)
  await using asking = askSteadily(hosting.berth.edgeUrl, host)
  for (const name of names) {
    const project = await makeBuild(hosting, name)
    const [quiet, busy]: [number[], number[]] = [[], []]
    let during: number[] = []
    for (let turn = 0; turn < turns; turn++) {
      await asking.take()
      await pause(windowMs)
      quiet.push(...(await asking.take()))
      const begun = performance.now()
      await hosting.settled(await hosting.deploy(project.id))
      const building = await asking.take()
      during = [...during, ...building]
      await pause(Math.max(0, begun + windowMs - performance.now()))
      busy.push(...building, ...(await asking.take()))
    }
    const answers = `${quiet.length} / ${busy.length}`
    rows.push([runtime, name, answers, p99(quiet), p99(busy), ratio(p99(busy), p99(quiet)), p99(during)])
  }
}
console.log(table(['runtime', 'a build that', 'answers', 'quiet p99 ms', 'with the build', 'ratio', 'while it runs'], rows))
