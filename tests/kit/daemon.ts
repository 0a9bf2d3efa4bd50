import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

export interface DaemonOptions {
  program: string
  args: readonly string[]
  env?: NodeJS.ProcessEnv
  cwd?: string
  /** Sign that the program serves: a text of its output, or a loopback port that accepts connections. */
  ready: RegExp | { port: number }
  readyWithinMs?: number
  /** An IPC channel, through which the program can notice the end of the test process. */
  channel?: boolean
}

export interface Daemon extends AsyncDisposable {
  readonly pid: number
  /** Everything that the program has written so far, both streams in the order of arrival. */
  output(): string
  isRunning(): boolean
  signal(signal: NodeJS.Signals): void
  /** Resolves with the exit status once the program has ended. */
  ended(): Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  /** Sends the program a signal (default: SIGTERM), and kills its whole process group if it does not end in time. */
  stop(withinMs?: number, signal?: NodeJS.Signals): Promise<void>
}

/** Starts a program as the leader of its own process group and waits until it serves. It never outlives the test run. */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const child = spawn(options.program, options.args, {
    cwd: options.cwd,
    env: options.env ?? process.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', ...(options.channel ? (['ipc'] as const) : [])],
  })
  const daemon = watch(child)
  const endGroup = () => killGroup(child)
  process.once('exit', endGroup)
  child.once('close', () => process.off('exit', endGroup))
  try {
    await Promise.race([serves(daemon, options), failure(child, options.program, daemon)])
    return daemon
  } catch (error) {
    await daemon.stop(0)
    throw error
  }
}

/** Whether a process runs; false for a zombie. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch (error) {
    // The signal succeeded but /proc is missing, as on other systems than Linux: zombies cannot be told apart there.
    return (error as NodeJS.ErrnoException).syscall === 'open' && process.platform !== 'linux'
  }
}

function watch(child: ChildProcess): Daemon {
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const isRunning = () => child.pid !== undefined && child.exitCode === null && child.signalCode === null
  const ended = async () => {
    if (isRunning()) await once(child, 'exit')
    return { code: child.exitCode, signal: child.signalCode }
  }
  const stop = async (withinMs = 15_000, signal: NodeJS.Signals = 'SIGTERM') => {
    if (isRunning()) {
      if (withinMs > 0) child.kill(signal)
      await Promise.race([ended(), pause(withinMs, undefined, { ref: false })])
    }
    killGroup(child)
    if (child.pid !== undefined) await ended()
  }
  return {
    get pid() {
      return child.pid ?? 0
    },
    output: () => output,
    isRunning,
    signal: (signal) => void child.kill(signal),
    ended,
    stop,
    [Symbol.asyncDispose]: () => stop(),
  }
}

/** Processes that a daemon started are in its group: they are killed too, even if the daemon has already ended. */
function killGroup(child: ChildProcess) {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

async function serves(daemon: Daemon, { ready, program, readyWithinMs = 90_000 }: DaemonOptions) {
  const end = performance.now() + readyWithinMs
  while (performance.now() < end) {
    if (ready instanceof RegExp ? ready.test(daemon.output()) : await accepts(ready.port)) return
    await pause(10)
  }
  throw new Error(`${program} did not serve within ${readyWithinMs} ms:\n${daemon.output()}`)
}

async function failure(child: ChildProcess, program: string, daemon: Daemon): Promise<never> {
  const [reason] = await Promise.race([once(child, 'exit'), once(child, 'error')])
  // The last output may arrive after the exit.
  await pause(20)
  throw new Error(`${program} ended before it served (${reason}):\n${daemon.output()}`)
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const settle = (answer: boolean) => {
      socket.destroy()
      resolve(answer)
    }
    socket.once('connect', () => settle(true))
    socket.once('error', () => settle(false))
  })
}
