import { contract, programName } from '@berth/contract'
import type { Command } from 'commander'
import { connect } from '../../credentials.ts'
import { columns, minute, output } from '../../output.ts'

export function addAccountSessions(account: Command): void {
  account
    .command('sessions')
    .description('list where you are signed in with a browser')
    .option('--end <id>', 'end this session')
    .action(async ({ end }: { end?: string }, command: Command) => {
      const client = connect(command)
      if (end) {
        await client.call(contract.access.endSession, { params: { id: end } })
        output(command).result({ ended: end }, () => `ended ${end}`)
        return
      }
      const { data } = await client.call(contract.access.listSessions, {})
      const rows = data.map(({ id, ip, userAgent, createdAt, lastUsedAt }) => [
        id,
        ip ?? '-',
        minute(createdAt),
        lastUsedAt ? minute(lastUsedAt) : '-',
        programName(userAgent) ?? '-',
      ])
      output(command).result(data, () =>
        data.length === 0 ? 'No browser sessions.' : columns([['ID', 'ADDRESS', 'SIGNED IN', 'LAST USED', 'PROGRAM'], ...rows]),
      )
      output(command).note('CLI logins are access tokens. List them with: berth token list')
    })
}
