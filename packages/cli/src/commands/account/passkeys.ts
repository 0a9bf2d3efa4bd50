import { contract } from '@berth/contract'
import type { Command } from 'commander'
import { connect } from '../../credentials.ts'
import { columns, minute, output } from '../../output.ts'

export function addAccountPasskeys(account: Command): void {
  account
    .command('passkeys')
    .description('list your passkeys; a browser adds them')
    .option('--remove <id>', 'remove this passkey')
    .action(async ({ remove }: { remove?: string }, command: Command) => {
      const client = connect(command)
      if (remove) {
        await client.call(contract.access.removePasskey, { params: { id: remove } })
        output(command).result({ removed: remove }, () => `removed ${remove}`)
        return
      }
      const { data } = await client.call(contract.access.listPasskeys, {})
      const rows = data.map(({ id, name, hostname, createdAt, lastUsedAt }) => [
        id,
        name,
        hostname,
        minute(createdAt),
        lastUsedAt ? minute(lastUsedAt) : '-',
      ])
      output(command).result(data, () =>
        data.length === 0
          ? 'No passkeys. Add one in the dashboard, on the page Your account.'
          : columns([['ID', 'NAME', 'HOST NAME', 'ADDED', 'LAST USED'], ...rows]),
      )
    })
}
