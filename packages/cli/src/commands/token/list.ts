import { contract } from '@berth/contract'
import type { Command } from 'commander'
import { connect } from '../../credentials.ts'
import { columns, minute, output } from '../../output.ts'

export function addTokenList(token: Command): void {
  token
    .command('list')
    .description('list your tokens in this organisation')
    .action(async (_options, command: Command) => {
      const { data } = await connect(command).call(contract.access.listTokens, {})
      const rows = data.map(({ id, name, lastFour, expiresAt, lastUsedAt }) => [
        id,
        name,
        `…${lastFour}`,
        expiresAt?.slice(0, 10) ?? 'never',
        lastUsedAt ? minute(lastUsedAt) : 'never',
      ])
      output(command).result(data, () => columns([['ID', 'NAME', 'LAST FOUR', 'EXPIRES', 'LAST USED'], ...rows]))
    })
}
