import { spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { serverEnv, serverFlags } from '../../bin/server-process.js'
import { dataFolder } from '../../bin/versions.js'
import { environment, launcherVariable } from '../environment.ts'
import { errorText } from '../error-text.ts'
import { installedProgram } from '../upgrade/installed-program.ts'
import { ownProgram } from '../upgrade/own-program.ts'
import type { VersionProgram } from '../upgrade/run-step.ts'
import { socketFile } from '../upgrade/upgrade-files.ts'
import type { Step } from '../upgrade/upgrade-record.ts'
import { serveUpgrades, type UpgradeHandler } from '../upgrade/upgrade-socket.ts'
import { type StopSignal, stopSignals } from './messages.ts'
import { type Programs, Supervisor } from './supervisor.ts'

/** `berth up` with BERTH_ROLE=all: runs a worker and an API process until a signal ends both. It loads nothing of the server. */
export async function supervise(): Promise<never> {
  const env = { ...serverEnv, ...environment.all() }
  // Both processes must know the port.
  if (env.BERTH_PORT === '0') env.BERTH_PORT = String(await freePort(env.BERTH_HOST || '127.0.0.1'))
  const [node, launcher, ...args] = process.argv as [string, string, ...string[]]
  const ownFlags = [...new Set([...process.execArgv, ...serverFlags])]
  const programsOf = (program: Omit<VersionProgram, 'version'>, flags = ownFlags): Programs => {
    // Each process runs the version that this one has chosen.
    const programEnv = { ...env, [launcherVariable]: environment.installedLauncher() }
    const berth = (words: readonly string[]) => ({
      node: program.node,
      args: [...flags, program.launcher, ...words],
      env: programEnv,
    })
    // Only the worker gets the options of the command line. The API process prints errors only.
    return { worker: berth(args), api: berth(args.filter((word) => word === 'up' || word === '--json')) }
  }
  const log = (message: string) => void process.stderr.write(`${message}\n`)
  const startDown = (signal: StopSignal) => {
    const options = downOptions(signal, env.BERTH_ON_STOP)
    if (options === null) return
    log('the worker does not run: berth down stops what it left running')
    spawn(node, [launcher, 'down', ...options], { detached: true, stdio: 'ignore', env: environment.all() }).unref()
  }
  return new Promise(() => {
    const supervisor: Supervisor = new Supervisor({
      programs: programsOf({ node, launcher }),
      log,
      onReady: () => serveUpgrades(socketFile(dataFolder(env)), upgradeHandler({ supervisor, env, programsOf, log })),
      end: endProcess,
      stopLeftRunning: startDown,
    })
    for (const signal of stopSignals) process.on(signal, () => supervisor.stop(signal))
    supervisor.start()
  })
}

/** Answers requests of `berth upgrade`. The code of an upgrade is loaded with the first one. */
function upgradeHandler(options: {
  supervisor: Supervisor
  env: NodeJS.ProcessEnv
  programsOf(program: VersionProgram, flags?: readonly string[]): Programs
  log(message: string): void
}): UpgradeHandler {
  const dataDir = dataFolder(options.env)
  let from = ownProgram().program
  let isUpgrading = false
  return async (request, send, abort) => {
    if (request.call === 'version') return send({ event: 'version', version: from.version })
    if (isUpgrading) return send({ event: 'refused', message: 'Another upgrade of this instance is running.' })
    isUpgrading = true
    try {
      const { upgradeSupervised } = await import('./upgrade-supervised.ts')
      const report = (step: Step, note?: string) => send({ event: 'step', step, ...(note ? { note } : {}) })
      const result = await upgradeSupervised({ ...options, dataDir, from, to: request.to, report, abort })
      if (result.outcome === 'upgraded') from = installedProgram(dataDir, result.to)
      send({ event: 'result', result })
    } catch (error) {
      if (!options.supervisor.isReleased) throw error
      // No version may start on this database. The next start of the instance tries to restore it.
      options.log(`upgrade: ${errorText(error)}`)
      send({ event: 'refused', message: errorText(error) })
      setTimeout(() => endProcess(1), 100)
    } finally {
      isUpgrading = false
    }
  }
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
