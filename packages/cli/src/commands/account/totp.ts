import { contract } from '@berth/contract'
import { text as askText } from '@clack/prompts'
import type { Command } from 'commander'
import { type Connection, connect } from '../../credentials.ts'
import { output } from '../../output.ts'
import { ask, askFor } from '../../prompt.ts'

export function addAccountTotp(account: Command): void {
  const totp = account.command('totp').description('two-factor authentication with an authenticator app')

  totp
    .command('status', { isDefault: true })
    .description('show whether two-factor authentication is on')
    .action(async (_options, command: Command) => {
      const { data } = await connect(command).call(contract.access.totpStatus)
      output(command).result(data, () =>
        data.enabled ? `on, ${data.recoveryCodesLeft} recovery codes left` : 'off; turn it on with: berth account totp enable',
      )
    })

  totp
    .command('enable')
    .description('set up two-factor authentication: prints the key and, on a terminal, asks for the first code')
    .action(async (_options, command: Command) => {
      const client = connect(command)
      const { data } = await client.call(contract.access.beginTotp)
      if (!process.stdin.isTTY) {
        output(command).result(data, () => [data.secret, data.uri].join('\n'))
        output(command).note('Add the key to your authenticator app, then run: berth account totp confirm <code>')
        return
      }
      output(command).note(`Add this key to your authenticator app: ${data.secret}\n${data.uri}`)
      const code = await ask(() => askText({ message: 'Code that the app shows' }), 'berth account totp confirm <code>')
      if (code !== null) await confirm(client, code, command)
    })

  totp
    .command('confirm <code>')
    .description('turn two-factor authentication on with the code that the app shows; prints the recovery codes')
    .action((code: string, _options, command: Command) => confirm(connect(command), code, command))

  totp
    .command('disable')
    .description('turn two-factor authentication off')
    .option('--code <code>', 'a code of your authenticator app, or a recovery code')
    .action(async (options: { code?: string }, command: Command) => {
      const client = connect(command)
      const message = 'Code of your authenticator app, or a recovery code'
      const code = options.code ?? (await askFor(() => askText({ message }), '--code'))
      await client.call(contract.access.removeTotp, { body: { code } })
      output(command).result({ enabled: false }, () => 'two-factor authentication is off')
    })
}

async function confirm(client: Connection, code: string, command: Command): Promise<void> {
  const { data } = await client.call(contract.access.confirmTotp, { body: { code } })
  output(command).result(data, () => data.recoveryCodes.join('\n'))
  output(command).note(
    'Two-factor authentication is on. Store these recovery codes: each signs in once, and they are not shown again.',
  )
}
