import type { Command } from 'commander'
import { environment } from '../../environment.ts'
import { CliError } from '../../exit-codes.ts'
import { output } from '../../output.ts'
import { loadServer, readSettings, type ServerPackage, type Settings } from '../../server-commands.ts'
import type { StepCommand } from '../../upgrade/run-step.ts'

/**
 * Adds the hidden command `berth upgrade-step`. Other versions of Berth run it: the names and the arguments of its steps never change
 * (docs/decisions/upgrade.md).
 */
export function addUpgradeStep(program: Command): void {
  program
    .command('upgrade-step <step> [path]', { hidden: true })
    .description('one step of an upgrade; run by berth upgrade')
    .action(async (step: string, path: string | undefined, _options, command: Command) => {
      const run = stepCommands[step as StepCommand]
      if (!run) throw new CliError(`This version does not know the step ${step}.`, 2)
      endWithParent()
      const server = await loadServer()
      const config = readSettings(server, { BERTH_LOG_LEVEL: 'warn', ...environment.all() })
      const result = await run({ server, config, path: path ?? '' })
      output(command).result(result ?? {}, () => 'done')
    })
}

/** A step that outlived its upgrade would change the database under the version that serves again. */
function endWithParent(): void {
  process.stdin.once('end', () => process.kill(process.pid, 'SIGKILL')).resume()
  process.stdin.unref?.()
}

interface StepInput {
  server: ServerPackage
  config: Settings
  path: string
}

const stepCommands: Readonly<Record<StepCommand, (input: StepInput) => unknown>> = {
  describe: ({ server }) => server.describeVersion(),
  rehearse: ({ server, path }) => server.rehearseMigration(path),
  backup: ({ server, config, path }) => server.backupInstance(config, path, { withEngine: false, withFolders: false }),
  copy: ({ server, config, path }) => server.copyDatabase(config, path),
  migrate: ({ server, config }) => server.migrateDatabase(config),
  restore: ({ server, config, path }) => server.restoreDatabase(config, path),
}
