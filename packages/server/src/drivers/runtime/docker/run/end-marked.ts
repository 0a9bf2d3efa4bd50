import { setTimeout as pause } from 'node:timers/promises'
import { callEngine, type Engine, isRemote } from '../engine.ts'
import { environmentOf, markerVariable } from './marked-programs.ts'
import { runInContainer } from './run-in.ts'

export interface MarkedCommand {
  marker: string
  user: string | undefined
}

const graceMs = 3_000
const pollIntervalMs = 100
const scriptTimeoutMs = 10_000

/**
 * Ends a command that was run inside a container, which the engine leaves running when its client disconnects. Sends SIGTERM,
 * then SIGKILL. Signals processes by pid on the engine's own machine, else through the container's shell. In an image without
 * a shell the command runs until it ends or the container stops.
 */
export async function endMarked(container: string, marked: MarkedCommand, engine: Engine): Promise<void> {
  const sendSignal = isRemote(engine) ? signalThroughShell : signalByPid
  let remaining = await sendSignal(container, marked, 'TERM', engine)
  for (const deadline = performance.now() + graceMs; remaining > 0 && performance.now() < deadline; ) {
    await pause(pollIntervalMs)
    remaining = await sendSignal(container, marked, '0', engine)
  }
  if (remaining > 0) await sendSignal(container, marked, 'KILL', engine)
}

type Signal = 'TERM' | 'KILL' | '0'

/** Signals by pid. Returns the number of processes reached. Without permission it uses the container's shell. */
async function signalByPid(container: string, marked: MarkedCommand, signal: Signal, engine: Engine): Promise<number> {
  const pids = await pidsOf(container, engine)
  let reached = 0
  try {
    for (const pid of pids) if ((await isMarked(pid, marked)) && send(pid, signal)) reached += 1
  } catch {
    return signalThroughShell(container, marked, signal, engine)
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
    const { Titles, Processes } = (await callEngine(() =>
      engine.getContainer(container).top({ ps_args: '-eo pid' }),
    )) as ProcessList
    const at = Titles.indexOf('PID')
    return Processes.map((row) => Number(row[at])).filter((pid) => Number.isInteger(pid) && pid > 1)
  } catch {
    return []
  }
}

interface ProcessList {
  Titles: string[]
  Processes: string[][]
}

/** Whether a process belongs to the command. False if it has ended. Throws without permission to read its environment. */
async function isMarked(pid: number, { marker }: MarkedCommand): Promise<boolean> {
  try {
    return (await environmentOf(pid)).includes(`${markerVariable}=${marker}`)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') throw error
    return false
  }
}

/** Prints a line for each process reached. */
const script = `for folder in /proc/[0-9]*; do
  grep -q -- "${markerVariable}=$1" "$folder/environ" 2>/dev/null && kill -s "$2" "\${folder#/proc/}" 2>/dev/null && echo reached
done`

async function signalThroughShell(
  container: string,
  { marker, user }: MarkedCommand,
  signal: Signal,
  engine: Engine,
): Promise<number> {
  let output = ''
  const command = { argv: ['sh', '-c', script, 'sh', marker, signal], ...(user ? { user } : {}) }
  const collect = ({ content }: { content: Buffer }) => {
    if (output.length < 64 * 1024) output += content.toString('latin1')
  }
  await runInContainer(container, command, collect, engine, AbortSignal.timeout(scriptTimeoutMs)).catch(() => undefined)
  return output.split('reached').length - 1
}
