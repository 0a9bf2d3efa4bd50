import type { Command } from 'commander'
import { environment } from '../../environment.ts'
import { output } from '../../output.ts'
import { loadServer, readSettings } from '../../server-commands.ts'

export function addSecretsRotate(secrets: Command): void {
  secrets
    .command('rotate')
    .description('create a new key and re-encrypt every secret; run it again if it was interrupted')
    .action(async (_options, command: Command) => {
      const server = await loadServer()
      const result = await server.rotateSecrets(readSettings(server, { BERTH_LOG_LEVEL: 'warn', ...environment.all() }))
      output(command).result(result, () => `a new key is in use; ${result.resealed} stored secrets were re-encrypted`)
    })
}
