import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { dataFolder } from '../../bin/versions.js'
import { environment } from '../environment.ts'
import { CliError } from '../exit-codes.ts'
import { type Output, output } from '../output.ts'
import { loadServer, readSettings, type ServerPackage, type Serving, type Settings } from '../server-commands.ts'
import { type ListeningSocket, stopSignals } from '../supervisor/messages.ts'
import { supervise } from '../supervisor/supervise.ts'
import { SupervisorLink } from '../supervisor/supervisor-link.ts'
import { ownProgram } from '../upgrade/own-program.ts'
import { recordFile } from '../upgrade/upgrade-files.ts'
import { stopOnSignal } from './stop-on-signal.ts'

export function addUp(program: Command): void {
  program
    .command('up')
    .description(
      'start the instance in the foreground; Ctrl-C stops it with its projects; configure it with BERTH_* variables (berth settings)',
    )
    .option('--take-over', 'run the projects of another machine, which is stopped or lost, on this one')
    .action(async ({ takeOver = false }: { takeOver?: boolean }, command: Command) => {
      const link = SupervisorLink.open()
      if (!link && environment.role() !== 'api') await recoverUpgrade()
      if (!link && environment.role() === 'all') await supervise()
      try {
        await (link && environment.role() === 'api' ? runApi(link) : run({ takeOver, link }, output(command)))
      } catch (error) {
        if (error instanceof CliError) link?.report('over')
        throw error
      } finally {
        link?.close()
      }
    })
}

/** The code of upgrades is loaded only if an upgrade was killed. */
async function recoverUpgrade(): Promise<void> {
  const dataDir = dataFolder(environment.all())
  if (!existsSync(recordFile(dataDir))) return
  const { recoverKilledUpgrade } = await import('../upgrade/recover.ts')
  await recoverKilledUpgrade(dataDir, (message) => void process.stderr.write(`${message}\n`))
}

/** Runs a process that starts and stops by itself, or a supervised worker. */
async function run({ takeOver, link }: { takeOver: boolean; link: SupervisorLink | undefined }, print: Output): Promise<void> {
  const server = await loadServer()
  const config = readSettings(server, environment.all())
  server.closeInherited()
  const supervisor = link && { pid: link.supervisorPid, onDatabaseOpen: () => link.report('database') }
  const { stop, lost, ...serving } = await startServer(server, config, {
    takeOver,
    ...(supervisor ? { supervisor } : {}),
    ...versionCheckOf(config),
  })
  const printReady = () => print.result({ ready: true, ...serving }, () => readyText(serving))
  if (!link) {
    printReady()
    return stopOnSignal({ stop, lost, signals: process, mainPid: process.pid }, config.onStop, print.note)
  }
  link.on('ready', printReady)
  link.report('started')
  await Promise.race([
    stopOnSignal({ stop, lost, signals: link, mainPid: link.supervisorPid }, config.onStop, print.note),
    link.waitForOrder('abandon').then(() => stop({ keepRunning: 'if-adopted' })),
    link.waitForOrder('release').then(() => stop({ keepRunning: true })),
  ])
}

/** A clone is upgraded by git. */
function versionCheckOf({ upgradeCheck }: Settings): { newerVersions?: () => Promise<string[]> } {
  const { isClone, program } = ownProgram()
  if (isClone || upgradeCheck === 'off') return {}
  return { newerVersions: async () => (await import('../upgrade/newer-versions.ts')).newerVersions(program.version) }
}

/** Runs a supervised API process. */
async function runApi(link: SupervisorLink): Promise<void> {
  const server = await loadServer()
  const socket = await link.waitForOrder('open')
  const config = readSettings(server, environment.all())
  server.closeInherited()
  const onListening = (listening: ListeningSocket) => link.report('listening', listening)
  const { stop } = await startServer(server, config, { supervisor: { pid: link.supervisorPid, socket, onListening } })
  link.report('started')
  await Promise.race(stopSignals.map((signal) => link.waitForOrder(signal)))
  await stop({ keepRunning: true })
}

const startServer = (server: ServerPackage, ...args: Parameters<ServerPackage['serve']>): Promise<Serving> =>
  server.serve(...args).catch((error: unknown) => {
    throw startProblem(error, server)
  })

function readyText({ url, projectsUrl, isolation, backupKey, setupUrl }: Omit<Serving, 'stop' | 'lost'>): string {
  const lines = Object.entries({
    'dashboard and API': url,
    projects: projectsUrl,
    isolation,
    ...(backupKey ? { 'backup key': `${backupKey} (keep a copy on another machine: without it no backup can be restored)` } : {}),
    ...(setupUrl ? { 'set up (once)': setupUrl } : {}),
  })
  return ['ready', ...lines.map(([name, value]) => `  ${name.padEnd(18)} ${value}`)].join('\n')
}

function startProblem(error: unknown, server: ServerPackage): unknown {
  if (error instanceof server.DataFolderInUse || error instanceof server.MachineRefused) return new CliError(error.message)
  if (error instanceof server.ConfigError) return new CliError(error.message, 2)
  const { code, port, address } = error as { code?: string; port?: number; address?: string }
  if (code === 'EADDRINUSE')
    return new CliError(`${address}:${port} is already used by another program. Stop it, or set BERTH_PORT or BERTH_EDGE_PORT.`)
  if (code === 'EACCES' && port)
    return new CliError(`Port ${port} needs root rights. Set BERTH_PORT or BERTH_EDGE_PORT to a port above 1023.`)
  return error
}
