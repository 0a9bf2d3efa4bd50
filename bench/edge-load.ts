import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type LoadResult, parseWrk } from '../tests/kit/wrk.ts'

const run = promisify(execFile)

/** One core for what is measured, one for everything around it, where there are two. */
export const cores = availableParallelism() > 1 && programAt('taskset') ? { measured: '0', around: '1' } : undefined

export function programAt(name: string): string | undefined {
  const folders = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin']
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file))
}

export async function pin(pid: number, core: string | undefined): Promise<void> {
  if (core !== undefined) await run('taskset', ['-a', '-c', '-p', core, String(pid)])
}

/** For a machine that is not quiet: a larger share of it for the process' session, as far as Linux' autogroups give one. */
export async function favour(pid: number): Promise<void> {
  await writeFile(`/proc/${pid}/autogroup`, '-19')
}

export interface WrkLoad {
  url: string
  connections: number
  seconds: number
  /** Requests a second over all connections; without it as many as it takes. */
  rate?: number
  folder: string
}

/** wrk on the core around. A rate is kept by a random pause after each answer, as wrk's script interface has it. */
export async function putWrkOn({ url, connections, seconds, rate, folder }: WrkLoad): Promise<LoadResult> {
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
    ...(rate === undefined ? [] : ['-s', script]),
    url,
  ]
  const wrk = programAt('wrk')!
  const { stdout } = cores ? await run('taskset', ['-c', cores.around, wrk, ...args]) : await run(wrk, args)
  // A line of the statistics by thread can end like a percentile (92.50%).
  return parseWrk(stdout.replaceAll(/^ +(Latency|Req\/Sec) +\d.*$/gm, ''))
}

/** Seconds of processor time a process has used. */
export async function processorSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}
