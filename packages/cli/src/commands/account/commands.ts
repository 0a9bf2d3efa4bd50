import type { Command } from 'commander'
import { addAccountPassword } from './password.ts'
import { addAccountSessions } from './sessions.ts'
import { addAccountTotp } from './totp.ts'
import { addWhoami } from './whoami.ts'

export function addAccount(program: Command): void {
  addWhoami(program)
  const account = program.command('account').description('your password, sessions and two-factor authentication')
  addAccountPassword(account)
  addAccountSessions(account)
  addAccountTotp(account)
}
