import type { Command } from 'commander'
import { environment } from '../environment.ts'
import { CliError } from '../exit-codes.ts'
import { output } from '../output.ts'
import { loadServer, readSettings } from '../server-commands.ts'
import { stopOnSignal } from './stop-on-signal.ts'

export function addUp(program: Command): void {
  program
    .command('up')
    .description(
      'start the instance in the foreground; Ctrl-C stops it with its projects; configure it with BERTH_* variables (berth settings)',
    )
    .option('--take-over', 'run the projects of another machine, which is stopped or lost, on this one')
    .action(async ({ takeOver = false }: { takeOver?: boolean }, command: Command) => {
      const print = output(command)
      const server = await loadServer()
      const config = readSettings(server, environment.all())
      server.closeInherited()
      const { stop, lost, ...serving } = await server.serve(config, { takeOver }).catch((error: unknown) => {
        throw startProblem(error, server)
      })
      const lines = Object.entries({
        'dashboard and API': serving.url,
        projects: serving.projectsUrl,
        isolation: serving.isolation,
        ...(serving.backupKey
          ? { 'backup key': `${serving.backupKey} (keep a copy on another machine: without it no backup can be restored)` }
          : {}),
        ...(serving.setupUrl ? { 'set up (once)': serving.setupUrl } : {}),
      })
      print.result({ ready: true, ...serving }, () =>
        ['ready', ...lines.map(([name, url]) => `  ${name.padEnd(18)} ${url}`)].join('\n'),
      )
      await stopOnSignal({ stop, lost }, config.onStop, print.note)
    })
}

function startProblem(error: unknown, server: Awaited<ReturnType<typeof loadServer>>): unknown {
  if (error instanceof server.DataFolderInUse || error instanceof server.MachineRefused) return new CliError(error.message)
  if (error instanceof server.ConfigError) return new CliError(error.message, 2)
  const { code, port, address } = error as { code?: string; port?: number; address?: string }
  if (code === 'EADDRINUSE')
    return new CliError(`${address}:${port} is already used by another program. Stop it, or set BERTH_PORT or BERTH_EDGE_PORT.`)
  if (code === 'EACCES' && port)
    return new CliError(`Port ${port} needs root rights. Set BERTH_PORT or BERTH_EDGE_PORT to a port above 1023.`)
  return error
}
