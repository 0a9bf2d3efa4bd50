import type { Command } from 'commander'
import { columns, output } from '../output.ts'
import { loadServer } from '../server-commands.ts'

export function addSettings(program: Command): void {
  program
    .command('settings')
    .description('list every BERTH_* variable with its meaning, values and default')
    .action(async (_options, command: Command) => {
      const settings = (await loadServer()).describeSettings()
      output(command).result(settings, () =>
        columns(
          settings.map(({ variable, help, accepts, default: fallback }) => [variable, fallback || '-', `${help}; ${accepts}`]),
        ),
      )
    })
}
