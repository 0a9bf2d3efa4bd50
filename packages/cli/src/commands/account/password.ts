import { contract } from '@berth/contract'
import { password as askPassword } from '@clack/prompts'
import type { Command } from 'commander'
import { connect } from '../../credentials.ts'
import { CliError } from '../../exit-codes.ts'
import { output } from '../../output.ts'
import { askFor } from '../../prompt.ts'
import { readStandardInput } from '../../standard-input.ts'

interface Options {
  passwordStdin?: boolean
  revokeTokens?: boolean
}

export function addAccountPassword(account: Command): void {
  account
    .command('password')
    .description('change your password; your other sessions end')
    .option('--password-stdin', 'read the current and the new password from standard input, one per line')
    .option('--revoke-tokens', 'also revoke your access tokens in all organisations, except the one of this machine')
    .action(async ({ passwordStdin, revokeTokens = false }: Options, command: Command) => {
      const client = connect(command)
      const passwords = passwordStdin ? await readPasswords() : await askPasswords()
      const { data } = await client.call(contract.access.changePassword, { body: { ...passwords, revokeTokens } })
      output(command).result(data, () =>
        [
          `password changed, ${data.endedSessions} sessions ended`,
          ...(revokeTokens ? [`${data.revokedTokens} tokens revoked`] : []),
        ].join('\n'),
      )
    })
}

async function readPasswords() {
  const [currentPassword, password, ...more] = (await readStandardInput()).split(/\r?\n/)
  if (!currentPassword || !password || more.length > 0)
    throw new CliError('Standard input needs two lines: the current password and the new one.', 2)
  return { currentPassword, password }
}

const askPasswords = async () => ({
  currentPassword: await askFor(() => askPassword({ message: 'Current password' }), '--password-stdin'),
  password: await askFor(() => askPassword({ message: 'New password' }), '--password-stdin'),
})
