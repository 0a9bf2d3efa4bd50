// Transfers a project with a volume of the given size to the cloud and back; both instances run on this machine. Run on a built
// product: npx node bench/transfer.ts [--megabytes 1024] [--runtime process|docker]. Fails when a byte, a variable, a rule or the id
// has changed, when both sides or neither side serves, or when either instance grows by more than 250 MB.
import { readFile, writeFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { RuntimeKind } from '../tests/kit/runtimes.ts'
import { type Side, startTwoHostings, type TwoHostings } from '../tests/kit/two-hostings.ts'
import { table } from './kit/table.ts'

const { values } = parseArgs({
  options: { megabytes: { type: 'string', default: '1024' }, runtime: { type: 'string', default: 'process' } },
})
const megabytes = Number(values.megabytes)
const maxGrownMb = 250

await using sides = await startTwoHostings({}, { runtime: values.runtime as RuntimeKind })
const { id, slug } = await sides.makeKeeper('large')
const hash = await sides.fill('here', slug, megabytes * 1_000_000)
const settings = await settingsOf(sides)
const rows = [await moved(sides, 'here', 'cloud'), await moved(sides, 'cloud', 'here')]
if ((await settingsOf(sides)) !== settings)
  throw new Error(`rules or settings are not the same: ${await settingsOf(sides)} was ${settings}`)
console.log(table(['way', 's', 'MB/s', 'down s', 'here grew MB', 'cloud grew MB'], rows))
if (rows.some((row) => Number(row[4]) > maxGrownMb || Number(row[5]) > maxGrownMb))
  throw new Error('the memory of an instance grew beyond the limit')

async function moved(two: TwoHostings, from: Side, to: Side): Promise<(string | number)[]> {
  const pids = [two.here.berth.pid, two.cloud.berth.pid]
  await Promise.all(pids.map((pid) => writeFile(`/proc/${pid}/clear_refs`, '5')))
  const before = await Promise.all(pids.map(peakMb))
  const begun = performance.now()
  const watching = downtime(two, from, to)
  const { status, body } = await two.move(id, to)
  if (status !== 200) throw new Error(`the project was not transferred: ${JSON.stringify(body)}`)
  const seconds = (performance.now() - begun) / 1000
  const down = await watching
  const kept = await two.answerOf(to, slug)
  if (JSON.stringify(Object.values(kept?.files ?? {})) !== JSON.stringify([hash])) throw new Error('the bytes are not the same')
  if (kept?.secret !== 'of large') throw new Error('the variable is not the same')
  const { status: known, body: project } = await two[to].api('GET', `/projects/${id}`)
  if (known !== 200 || project.data.status !== 'live') throw new Error(`the project is not live under its id: ${known}`)
  if (await two.answerOf(from, slug)) throw new Error('both sides serve')
  const grown = (await Promise.all(pids.map(peakMb))).map((peak, at) => Math.round(peak - (before[at] ?? 0)))
  return [`${from} → ${to}`, seconds, megabytes / seconds, down, ...grown]
}

/** Time from the first missing response at the source to the first response at the target. */
async function downtime(two: TwoHostings, from: Side, to: Side): Promise<number> {
  const answers = async (side: Side) =>
    (await two[side].get(`${slug}.localhost`, '/').catch(() => ({ status: 0 }))).status === 200
  while (await answers(from)) await pause(50)
  const begun = performance.now()
  while (!(await answers(to))) await pause(50)
  return (performance.now() - begun) / 1000
}

/** Settings of the project at its origin, as text for comparison. */
async function settingsOf({ here }: TwoHostings): Promise<string> {
  const rules = (await here.api('GET', `/projects/${id}/route-rules`)).body.data
  const env = (await here.api('GET', `/projects/${id}/env`)).body.data
  const { data } = (await here.api('GET', `/projects/${id}`)).body
  return JSON.stringify([
    rules.map(({ kind, config }: { kind: string; config: object }) => ({ kind, config })),
    env.map(({ key, isSecret, environment }: Record<string, unknown>) => ({ key, isSecret, environment })),
    [data.id, data.slug, data.name, data.resources, data.volumes, data.healthCheck],
  ])
}

async function peakMb(pid: number): Promise<number> {
  return Number(/VmHWM:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024
}
