import type { Command } from 'commander'
import { addAccountPasskeys } from './passkeys.ts'
import { addAccountPassword } from './password.ts'
import { addAccountSessions } from './sessions.ts'
import { addAccountTotp } from './totp.ts'
import { addWhoami } from './whoami.ts'

export function addAccount(program: Command): void {
  addWhoami(program)
  const account = program.command('account').description('your password, passkeys, sessions and two-factor authentication')
  addAccountPassword(account)
  addAccountPasskeys(account)
  addAccountSessions(account)
  addAccountTotp(account)
}
