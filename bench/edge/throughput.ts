import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cores, programAt, putWrkOn } from '../edge-load.ts'
import { median } from '../kit/median.ts'
import { cpuSecondsOfThreads } from '../kit/process-cpu.ts'
import { ratio } from '../kit/table.ts'
import { type Contender, hostname } from './contenders.ts'

export interface LoadOptions {
  seconds: number
  connections: number
  folder: string
}

interface Turn {
  requests: number
  perSecond: number
}

type Load = (contender: Contender, options: LoadOptions) => Promise<Turn>

/** The loads by name. Resumed handshakes come from Node, which is slower than the proxies: only their processor time counts. */
export const loads: Record<string, Load> = {
  '1 kB reply': ({ port }, options) => wrkTurn(`http://127.0.0.1:${port}/`, options),
  'TLS, kept alive': ({ tlsPort }, options) => wrkTurn(`https://127.0.0.1:${tlsPort}/`, options),
  'TLS, handshake each': ({ tlsPort }, options) => wrkTurn(`https://127.0.0.1:${tlsPort}/`, { ...options, isReconnecting: true }),
  'TLS, resumed each': ({ tlsPort }, options) => handshakeTurn(tlsPort, 'resumed', options),
}

async function wrkTurn(url: string, options: LoadOptions & { isReconnecting?: boolean }): Promise<Turn> {
  const { requests, requestsPerSecond, errors } = await putWrkOn({ url, ...options })
  // A connection that ends after its response may count as a read error of wrk.
  if (requests === 0 || (errors > 0 && !options.isReconnecting))
    throw new Error(`${url}: ${errors} of ${requests} requests failed`)
  return { requests, perSecond: requestsPerSecond }
}

async function handshakeTurn(port: number, mode: 'full' | 'resumed', { seconds }: LoadOptions): Promise<Turn> {
  const program = [process.execPath, join(import.meta.dirname, 'handshakes-process.ts')]
  const args = [...program, String(port), hostname, String(seconds), '8', mode]
  const [file, ...rest] = cores ? [programAt('taskset')!, '-c', cores.around, ...args] : args
  const { stdout } = await promisify(execFile)(file!, rest)
  const { requests, resumed, errors } = JSON.parse(stdout) as { requests: number; resumed: number; errors: number }
  if (requests === 0 || errors > 0) throw new Error(`port ${port}: ${errors} of ${requests} handshakes failed`)
  if (mode === 'resumed' && resumed < 0.9 * requests) throw new Error(`port ${port}: only ${resumed} of ${requests} were resumed`)
  return { requests, perSecond: requests / seconds }
}

export interface Measured {
  perSecond: number
  /** Processor seconds of the proxy for 1,000 requests. */
  cost: number
}

/** Loads the contenders alternately; the order changes with each round, so that a drift of the machine favours none. */
export async function measure(load: Load, contenders: readonly Contender[], rounds: number, options: LoadOptions) {
  const results = new Map<Contender, Measured[]>(contenders.map((contender) => [contender, []]))
  // The first round is warm-up and does not count.
  for (let round = 0; round <= rounds; round += 1) {
    for (const contender of round % 2 === 0 ? contenders : contenders.toReversed()) {
      const measured = await turn(load, contender, options)
      if (round > 0) results.get(contender)!.push(measured)
    }
  }
  return contenders.map((contender) => results.get(contender)!)
}

export async function turn(load: Load, contender: Contender, options: LoadOptions): Promise<Measured> {
  const before = await cpuSecondsOfThreads(contender.pid)
  const { requests, perSecond } = await load(contender, options)
  return { perSecond, cost: (((await cpuSecondsOfThreads(contender.pid)) - before) / requests) * 1000 }
}

/** Medians of the rounds. `ofReference` compares each round with the same round of nginx. */
export function compared(reference: readonly Measured[], own: readonly Measured[]): (string | number)[] {
  const perSecond = (rounds: readonly Measured[]) => median(rounds.map((round) => round.perSecond))
  const cost = (rounds: readonly Measured[]) => median(rounds.map((round) => round.cost))
  const shares = own.map((round, at) => reference[at]!.cost / round.cost)
  return [
    perSecond(reference),
    perSecond(own),
    ratio(perSecond(own), perSecond(reference)),
    cost(reference).toFixed(4),
    cost(own).toFixed(4),
    median(shares).toFixed(3),
  ]
}

export const throughputColumns = [
  'nginx requests/s',
  'edge requests/s',
  'of nginx',
  'nginx cpu s/1,000',
  'edge cpu s/1,000',
  'of nginx by cpu',
]
