import { setTimeout as pause } from 'node:timers/promises'
import { callEngine, type Engine, isRemote } from '../engine.ts'
import { markVariable, variablesOf } from './marked-programs.ts'
import { runIn } from './run-in.ts'

export interface Marked {
  mark: string
  user: string | undefined
}

const graceMs = 3_000
const pollIntervalMs = 100
const scriptMs = 10_000

/**
 * Ends a command that was run inside a container, which the engine leaves running when its client disconnects. Sends SIGTERM,
 * then SIGKILL. Signals processes by pid on the engine's own machine, else through the container's shell. In an image without
 * a shell the command runs until it ends or the container stops.
 */
export async function endMarked(container: string, marked: Marked, engine: Engine): Promise<void> {
  const signal = isRemote(engine) ? viaShell : viaNumbers
  let left = await signal(container, marked, 'TERM', engine)
  for (const until = performance.now() + graceMs; left > 0 && performance.now() < until; ) {
    await pause(pollIntervalMs)
    left = await signal(container, marked, '0', engine)
  }
  if (left > 0) await signal(container, marked, 'KILL', engine)
}

type Signal = 'TERM' | 'KILL' | '0'

/** Signals by pid. Returns the number of processes reached. Without permission it uses the container's shell. */
async function viaNumbers(container: string, marked: Marked, signal: Signal, engine: Engine): Promise<number> {
  const pids = await pidsOf(container, engine)
  let reached = 0
  try {
    for (const pid of pids) if ((await isMarked(pid, marked)) && send(pid, signal)) reached += 1
  } catch {
    return viaShell(container, marked, signal, engine)
  }
  return reached
}

/** Returns false if the process has ended meanwhile. */
function send(pid: number, signal: Signal): boolean {
  try {
    return process.kill(pid, signal === '0' ? 0 : `SIG${signal}`)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw error
  }
}

/** Pids of a container's processes on the engine's machine. Empty if it has stopped. */
async function pidsOf(container: string, engine: Engine): Promise<number[]> {
  try {
    const { Titles, Processes } = (await callEngine(() => engine.getContainer(container).top({ ps_args: '-eo pid' }))) as Listing
    const at = Titles.indexOf('PID')
    return Processes.map((row) => Number(row[at])).filter((pid) => Number.isInteger(pid) && pid > 1)
  } catch {
    return []
  }
}

interface Listing {
  Titles: string[]
  Processes: string[][]
}

/** Whether a process belongs to the command. False if it has ended. Throws without permission to read its environment. */
async function isMarked(pid: number, { mark }: Marked): Promise<boolean> {
  try {
    return (await variablesOf(pid)).includes(`${markVariable}=${mark}`)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') throw error
    return false
  }
}

/** Prints a line for each process reached. */
const script = `for place in /proc/[0-9]*; do
  grep -q -- "${markVariable}=$1" "$place/environ" 2>/dev/null && kill -s "$2" "\${place#/proc/}" 2>/dev/null && echo reached
done`

async function viaShell(container: string, { mark, user }: Marked, signal: Signal, engine: Engine): Promise<number> {
  let reported = ''
  const run = { argv: ['sh', '-c', script, 'sh', mark, signal], ...(user ? { user } : {}) }
  const keep = ({ content }: { content: Buffer }) => {
    if (reported.length < 64 * 1024) reported += content.toString('latin1')
  }
  await runIn(container, run, keep, engine, AbortSignal.timeout(scriptMs)).catch(() => undefined)
  return reported.split('reached').length - 1
}
