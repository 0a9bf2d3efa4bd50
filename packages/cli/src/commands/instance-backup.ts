import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { environment } from '../environment.ts'
import { CliError } from '../exit-codes.ts'
import { output } from '../output.ts'
import { loadServer, readSettings } from '../server-commands.ts'

/** Adds `backup-instance` and `restore-instance`. Both read and write the data folder directly, without the API. */
export function addInstanceBackup(program: Command): void {
  program
    .command('backup-instance <file>')
    .description(
      'back up the whole instance into one encrypted file, also while it runs. Then copy the file and backup.key to another machine yourself',
    )
    .option('--without-docker', 'leave out Docker volumes and the images of running projects')
    .action(async (file: string, { withoutDocker }: Options, command: Command) => {
      const server = await loadServer()
      const config = readSettings(server, { BERTH_LOG_LEVEL: 'warn', ...environment.all() })
      const result = await server.backupInstance(config, file, { withEngine: !withoutDocker }).catch(rethrowRefusal(server))
      const volumes = result.volumes > 0 ? `, ${volumeCount(result.volumes)} of Docker included` : ''
      output(command).result(
        result,
        () =>
          `${result.file} contains the instance${volumes}. It cannot be restored without its key: keep a copy of ${result.keyFile} on another machine.`,
      )
    })
  program
    .command('restore-instance <file>')
    .description(
      'restore an instance from its file and key into an empty data folder (BERTH_DATA_DIR; with PostgreSQL also a new, empty BERTH_DATABASE_URL)',
    )
    .requiredOption('--key <file>', 'the copy of backup.key')
    .option('--without-docker', 'restore nothing to Docker')
    .action(async (file: string, { key, withoutDocker }: Options & { key: string }, command: Command) => {
      for (const name of [file, key]) if (!existsSync(name)) throw new CliError(`The file ${name} does not exist.`)
      const server = await loadServer()
      const config = readSettings(server, { BERTH_LOG_LEVEL: 'warn', ...environment.all() })
      const result = await server.restoreInstance(config, file, key, { withEngine: !withoutDocker }).catch(rethrowRefusal(server))
      const lines = [
        `${result.dataDir} is restored. Start the instance with: BERTH_DATA_DIR=${result.dataDir} berth up`,
        ...(result.volumes > 0 ? [`${volumeCount(result.volumes)} restored to Docker`] : []),
        ...(result.kept.length > 0 ? [`Docker already had these volumes; they were not changed: ${result.kept.join(', ')}`] : []),
      ]
      output(command).result(result, () => lines.join('\n'))
    })
}

interface Options {
  withoutDocker?: boolean
}

const volumeCount = (volumes: number) => `${volumes} ${volumes === 1 ? 'volume' : 'volumes'}`

const rethrowRefusal =
  (server: Awaited<ReturnType<typeof loadServer>>) =>
  (error: unknown): never => {
    throw error instanceof server.InstanceBackupRefused ? new CliError(error.message) : error
  }
