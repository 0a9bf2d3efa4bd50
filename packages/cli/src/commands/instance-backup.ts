import type { Command } from 'commander'
import { environment } from '../environment.ts'
import { Plain } from '../exit-codes.ts'
import { output } from '../output.ts'
import { loadServer, readSettings } from '../server-commands.ts'

/** The whole instance in one file; both work on the data folder itself. */
export function addInstanceBackup(program: Command): void {
  program
    .command('backup-instance <file>')
    .description('save the whole instance as one encrypted file, also while it runs; keep it and the key apart from this machine')
    .option('--without-docker', 'leave out what is in Docker: volumes, and images of what runs')
    .action(async (file: string, { withoutDocker }: Options, command: Command) => {
      const server = await loadServer()
      const config = readSettings(server, { BERTH_LOG_LEVEL: 'warn', ...environment.all() })
      const done = await server.backupInstance(config, file, { withEngine: !withoutDocker }).catch(refused(server))
      const volumes = done.volumes > 0 ? `, ${counted(done.volumes)} of Docker among it` : ''
      output(command).result(
        done,
        () =>
          `${done.file} holds the instance${volumes}. It is worth nothing without its key: keep a copy of ${done.keyFile} elsewhere.`,
      )
    })
  program
    .command('restore-instance <file>')
    .description(
      'bring an instance back into an empty data folder (BERTH_DATA_DIR; on PostgreSQL also a new, empty BERTH_DATABASE_URL), from its file and its key',
    )
    .requiredOption('--key <file>', 'the copy of backup.key')
    .option('--without-docker', 'bring nothing back to Docker')
    .action(async (file: string, { key, withoutDocker }: Options & { key: string }, command: Command) => {
      const server = await loadServer()
      const config = readSettings(server, { BERTH_LOG_LEVEL: 'warn', ...environment.all() })
      const done = await server.restoreInstance(config, file, key, { withEngine: !withoutDocker }).catch(refused(server))
      const lines = [
        `${done.dataDir} is the instance again: start it with berth up`,
        ...(done.volumes > 0 ? [`${counted(done.volumes)} came back to Docker`] : []),
        ...(done.kept.length > 0 ? [`Docker had these volumes already, and they stay as they are: ${done.kept.join(', ')}`] : []),
      ]
      output(command).result(done, () => lines.join('\n'))
    })
}

interface Options {
  withoutDocker?: boolean
}

const counted = (volumes: number) => `${volumes} ${volumes === 1 ? 'volume' : 'volumes'}`

const refused =
  (server: Awaited<ReturnType<typeof loadServer>>) =>
  (error: unknown): never => {
    throw error instanceof server.InstanceBackupRefused ? new Plain(error.message) : error
  }
