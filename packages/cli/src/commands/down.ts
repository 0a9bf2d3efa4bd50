import { type Command, InvalidArgumentError } from 'commander'
import { environment } from '../environment.ts'
import { CliError } from '../exit-codes.ts'
import { output } from '../output.ts'
import { loadServer, readSettings } from '../server-commands.ts'

/** Adds `berth down`. It works on the data folder, without the API: the control plane may be down already. */
export function addDown(program: Command): void {
  program
    .command('down')
    .description('stop the instance on this machine: control plane, edge and projects; berth up starts them all again')
    .option(
      '--unless-restarted <seconds>',
      'first wait for the next start of the control plane; if it starts in time, stop nothing',
      seconds,
    )
    .action(async ({ unlessRestarted }: { unlessRestarted?: number }, command: Command) => {
      const server = await loadServer()
      const config = readSettings(server, { BERTH_LOG_LEVEL: 'warn', ...environment.all() })
      const print = output(command)
      const announce = (projects: string[]) =>
        print.note(`stopping the control plane, the edge and ${projectList(projects)} on this machine…`)
      const stopping =
        unlessRestarted === undefined
          ? server.stopInstance(config, announce)
          : server.stopUnlessRestarted(config, unlessRestarted * 1000)
      const result = await stopping.catch((error: unknown) => {
        throw error instanceof server.DataFolderInUse ? new CliError(error.message) : error
      })
      print.result(result, () => outcomes[result.outcome])
    })
}

const outcomes = {
  stopped: 'stopped. Start everything again with berth up.',
  restarted: 'a control plane has started: nothing was stopped',
  nothing: 'nothing runs on this data folder',
} as const

const projectList = (projects: readonly string[]) =>
  projects.length === 0
    ? 'no project'
    : `${projects.length} ${projects.length === 1 ? 'project' : 'projects'} (${projects.join(', ')})`

function seconds(text: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 0 || value > 3600) throw new InvalidArgumentError('It must be a number from 0 to 3600.')
  return value
}
