import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type LoadResult, parseWrk } from '../tests/kit/wrk.ts'

const run = promisify(execFile)

/** A core for the measured process and a core for everything else, if there are two. */
export const cores = availableParallelism() > 1 && programAt('taskset') ? { measured: '0', around: '1' } : undefined

export function programAt(name: string): string | undefined {
  const folders = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin']
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file))
}

export async function pin(pid: number, core: string | undefined): Promise<void> {
  if (core !== undefined) await run('taskset', ['-a', '-c', '-p', core, String(pid)])
}

/** Raises the CPU share of the process' session through Linux' autogroups, for a machine that is not idle. */
export async function favour(pid: number): Promise<void> {
  await writeFile(`/proc/${pid}/autogroup`, '-19')
}

export interface WrkLoad {
  url: string
  connections: number
  seconds: number
  /** Requests per second over all connections; default: as many as possible. */
  rate?: number
  /** A connection for each request. */
  isReconnecting?: boolean
  folder: string
}

/** Runs wrk on the second core. A rate is approximated by a random pause after each response, through wrk's script interface. */
export async function putWrkOn({ url, connections, seconds, rate, isReconnecting, folder }: WrkLoad): Promise<LoadResult> {
  const script = join(folder, 'pace.lua')
  if (rate !== undefined)
    await writeFile(script, `function delay() return math.random(0, ${Math.round((2000 * connections) / rate)}) end\n`)
  const args = [
    '--latency',
    '-t',
    '1',
    '-c',
    String(connections),
    '-d',
    `${seconds}s`,
    ...(isReconnecting ? ['-H', 'Connection: close'] : []),
    ...(rate === undefined ? [] : ['-s', script]),
    url,
  ]
  const wrk = programAt('wrk')!
  const { stdout } = cores ? await run('taskset', ['-c', cores.around, wrk, ...args]) : await run(wrk, args)
  // A line of the per-thread statistics can end like a percentile (92.50%).
  return parseWrk(stdout.replaceAll(/^ +(Latency|Req\/Sec) +\d.*$/gm, ''))
}

/** CPU time in seconds that a process has used. */
export async function processorSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}
