import { password as askPassword } from '@clack/prompts'
import type { Command } from 'commander'
import { environment } from '../../environment.ts'
import { CliError } from '../../exit-codes.ts'
import { output } from '../../output.ts'
import { askFor } from '../../prompt.ts'
import { loadServer, readSettings } from '../../server-commands.ts'
import { readStandardInput } from '../../standard-input.ts'

interface Options {
  passwordStdin?: boolean
  keepTotp?: boolean
  revokeTokens?: boolean
}

export function addAdminReset(admin: Command): void {
  admin
    .command('reset <email>')
    .description(
      'set a new password for a user, end their sessions and turn off two-factor authentication; works on the data folder',
    )
    .option('--password-stdin', 'read the new password from standard input')
    .option('--keep-totp', 'keep two-factor authentication on')
    .option('--revoke-tokens', 'also revoke the access tokens of the user')
    .action(async (email: string, { passwordStdin, keepTotp = false, revokeTokens = false }: Options, command: Command) => {
      const server = await loadServer()
      const config = readSettings(server, { BERTH_LOG_LEVEL: 'warn', ...environment.all() })
      const password = passwordStdin
        ? await readStandardInput()
        : await askFor(() => askPassword({ message: 'New password' }), '--password-stdin')
      if (password.length < 8) throw new CliError('The password needs at least 8 characters', 2)
      const reset = await server.resetAccountHere(config, { email, password, keepTotp, revokeTokens })
      if (!reset) throw new CliError(`${email} has no account here`, 5)
      output(command).result(reset, () =>
        [
          `${email} can sign in with the new password, ${reset.endedSessions} sessions ended`,
          ...(reset.hadTotp && !keepTotp ? ['two-factor authentication is off'] : []),
          ...(revokeTokens ? [`${reset.revokedTokens} tokens revoked`] : []),
        ].join('\n'),
      )
    })
}
