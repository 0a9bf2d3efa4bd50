import { spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { serverEnv, serverFlags } from '../../bin/server-process.js'
import { environment } from '../environment.ts'
import { type StopSignal, stopSignals } from './messages.ts'
import { Supervisor } from './supervisor.ts'

/** `berth up` with BERTH_ROLE=all: runs a worker and an API process until a signal ends both. It loads nothing of the server. */
export async function supervise(): Promise<never> {
  const env = { ...serverEnv, ...environment.all() }
  // Both processes must know the port.
  if (env.BERTH_PORT === '0') env.BERTH_PORT = String(await freePort(env.BERTH_HOST || '127.0.0.1'))
  const [node, launcher, ...args] = process.argv as [string, string, ...string[]]
  const flags = [...new Set([...process.execArgv, ...serverFlags])]
  const berth = (words: readonly string[]) => ({ node, args: [...flags, launcher, ...words], env })
  const log = (message: string) => void process.stderr.write(`${message}\n`)
  const leaveDown = (signal: StopSignal) => {
    const options = downOptions(signal, env.BERTH_ON_STOP)
    if (options === null) return
    log('the worker does not run: berth down stops what it left running')
    spawn(node, [launcher, 'down', ...options], { detached: true, stdio: 'ignore', env: environment.all() }).unref()
  }
  return new Promise(() => {
    const supervisor = new Supervisor({
      // Options are the worker's; the API process prints nothing but errors.
      programs: { worker: berth(args), api: berth(args.filter((word) => word === 'up' || word === '--json')) },
      log,
      end: endProcess,
      stopLeftRunning: leaveDown,
    })
    for (const signal of stopSignals) process.on(signal, () => supervisor.stop(signal))
    supervisor.start()
  })
}

/** Ends this process with the exit code, or as the signal would have ended it. */
function endProcess(code: number, signal?: StopSignal): void {
  if (!signal) process.exit(code)
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
}

/** Options of `berth down` after a stop without a worker; null: the edge and the projects are kept running. */
function downOptions(signal: StopSignal, onStop: string | undefined): string[] | null {
  if (signal !== 'SIGTERM' || onStop === 'stop') return []
  return onStop === 'keep' ? null : ['--unless-restarted', '10']
}

function freePort(host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, host, () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}
