// A project with a volume of so many MB to the cloud and back, both instances on this machine. Run on a built product:
// npx node bench/transfer.ts [MB, default 1024]. Fails when a byte is another one, or when either instance grows by more than 250 MB.
import { readFile, writeFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { type Side, startTwoHostings, type TwoHostings } from '../tests/kit/two-hostings.ts'
import { table } from './kit/table.ts'

const megabytes = Number(process.argv[2] ?? 1024)
const mostGrownMb = 250

await using sides = await startTwoHostings()
const { id, slug } = await sides.makeKeeper('large')
const hash = await sides.fill('here', slug, megabytes * 1_000_000)
const rows = [await moved(sides, 'here', 'cloud'), await moved(sides, 'cloud', 'here')]
console.log(table(['way', 's', 'MB/s', 'down s', 'here grew MB', 'cloud grew MB'], rows))
if (rows.some((row) => Number(row[4]) > mostGrownMb || Number(row[5]) > mostGrownMb))
  throw new Error('a side held too much in memory')

async function moved(two: TwoHostings, from: Side, to: Side): Promise<(string | number)[]> {
  const pids = [two.here.berth.pid, two.cloud.berth.pid]
  await Promise.all(pids.map((pid) => writeFile(`/proc/${pid}/clear_refs`, '5')))
  const before = await Promise.all(pids.map(peakMb))
  const begun = performance.now()
  const watching = downtime(two, from, to)
  const { status, body } = await two.move(id, to)
  if (status !== 200) throw new Error(`it was not moved: ${JSON.stringify(body)}`)
  const seconds = (performance.now() - begun) / 1000
  const down = await watching
  const kept = await two.kept(to, slug)
  if (JSON.stringify(Object.values(kept?.files ?? {})) !== JSON.stringify([hash])) throw new Error('the bytes are not the same')
  if (await two.kept(from, slug)) throw new Error('both sides serve')
  const grown = (await Promise.all(pids.map(peakMb))).map((peak, at) => Math.round(peak - (before[at] ?? 0)))
  return [`${from} → ${to}`, seconds, megabytes / seconds, down, ...grown]
}

/** From the first answer that is missing where it was to the first one where it is now. */
async function downtime(two: TwoHostings, from: Side, to: Side): Promise<number> {
  const answers = async (side: Side) =>
    (await two[side].get(`${slug}.localhost`, '/').catch(() => ({ status: 0 }))).status === 200
  while (await answers(from)) await pause(50)
  const begun = performance.now()
  while (!(await answers(to))) await pause(50)
  return (performance.now() - begun) / 1000
}

async function peakMb(pid: number): Promise<number> {
  return Number(/VmHWM:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024
}
