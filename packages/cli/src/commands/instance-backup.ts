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
    .action(async (file: string, _options, command: Command) => {
      const server = await loadServer()
      const config = readSettings(server, { BERTH_LOG_LEVEL: 'warn', ...environment.all() })
      const done = await server.backupInstance(config, file).catch(refused(server))
      output(command).result(
        done,
        () => `${done.file} holds the instance. It is worth nothing without its key: keep a copy of ${done.keyFile} elsewhere.`,
      )
    })
  program
    .command('restore-instance <file>')
    .description('bring an instance back into an empty data folder (BERTH_DATA_DIR), from its file and its key')
    .requiredOption('--key <file>', 'the copy of backup.key')
    .action(async (file: string, { key }: { key: string }, command: Command) => {
      const server = await loadServer()
      const config = readSettings(server, { BERTH_LOG_LEVEL: 'warn', ...environment.all() })
      const done = await server.restoreInstance(config, file, key).catch(refused(server))
      output(command).result(done, () => `${done.dataDir} is the instance again: start it with berth up`)
    })
}

const refused =
  (server: Awaited<ReturnType<typeof loadServer>>) =>
  (error: unknown): never => {
    throw error instanceof server.InstanceBackupRefused ? new Plain(error.message) : error
  }
