import { setTimeout as pause } from 'node:timers/promises'
import { putWrkOn } from '../edge-load.ts'
import { cpuSecondsOfThreads } from '../kit/process-cpu.ts'
import { memoryOf } from '../kit/process-memory.ts'
import { megabytes } from '../kit/table.ts'
import { startConnections } from './connections.ts'
import type { Contender } from './contenders.ts'
import type { LoadOptions } from './throughput.ts'

/** Time until the attack has opened its connections. */
const rampMs = 4_000
const rate = 400
const otherConnections = 16

export const slowHeaderColumns = [
  'connections that send a header a second',
  'held',
  'resident',
  'cores',
  'kept p50 ms',
  'kept p99 ms',
  'new p50 ms',
  'new p99 ms',
  'failed',
]

/** Latency of other clients' requests, memory and processor time of a proxy, before and under the attack. */
export async function slowHeaders(contender: Contender, count: number, options: LoadOptions): Promise<(string | number)[][]> {
  const quiet = await watch(contender, options)
  await using attack = await startConnections(contender.port, 'http')
  attack.attack(count)
  await pause(rampMs)
  const attacked = await watch(contender, options)
  const { open } = attack.latest
  return [
    [`${contender.name}, none`, 0, ...quiet],
    [`${contender.name}, ${count.toLocaleString('en')}`, open, ...attacked],
  ]
}

/** Other clients: a few hundred requests a second, on kept connections and then on new ones. */
async function watch({ pid, port }: Contender, { seconds, folder }: LoadOptions): Promise<(string | number)[]> {
  const load = { url: `http://127.0.0.1:${port}/`, connections: otherConnections, seconds, rate, folder }
  const [startedAt, before] = [performance.now(), await cpuSecondsOfThreads(pid)]
  const kept = await putWrkOn(load)
  const fresh = await putWrkOn({ ...load, isReconnecting: true })
  const share = ((await cpuSecondsOfThreads(pid)) - before) / ((performance.now() - startedAt) / 1000)
  const resident = megabytes((await memoryOf(pid))!.rssBytes)
  return [resident, share, kept.p50Ms, kept.p99Ms, fresh.p50Ms, fresh.p99Ms, kept.errors + fresh.errors]
}
