import { contract } from '@berth/contract'
import type { Command } from 'commander'
import { connect } from '../../credentials.ts'
import { output } from '../../output.ts'

export function addTokenRevoke(token: Command): void {
  token
    .command('revoke <id>')
    .description('revoke a token: it stops working at once')
    .action(async (id: string, _options, command: Command) => {
      await connect(command).call(contract.access.revokeToken, { params: { id } })
      output(command).result({ revoked: id }, () => `revoked ${id}`)
    })
}
