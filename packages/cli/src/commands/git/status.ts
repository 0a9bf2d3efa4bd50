import { contract, type GitHostStatus } from '@berth/contract'
import type { Command } from 'commander'
import { connect } from '../../credentials.ts'
import { columns, output } from '../../output.ts'
import { providerOf } from './provider.ts'

export function addGitStatus(git: Command): void {
  git
    .command('status')
    .description('show the connection to git hosts')
    .option('--provider <host>', 'github, gitlab or gitea (default: all)')
    .action(async (_options, command: Command) => {
      const status = await connect(command).call(contract.gitHost.status, { query: providerOf(command) })
      output(command).result(status, () => statusText(status))
    })
}

const sources = { app: 'app', oauth: 'account', cli: 'login of the machine' } as const

function statusText({ state, accounts, installUrl, cloudUnreachable }: GitHostStatus): string {
  const lines = [state === 'disconnected' ? 'disconnected (connect with: berth git connect)' : state]
  if (accounts.length > 0) lines.push(columns(accounts.map(({ login, type, source }) => [login, type, sources[source]])))
  if (installUrl) lines.push(`install the app on another account: ${installUrl}`)
  if (cloudUnreachable) lines.push('the linked cloud is unreachable')
  return lines.join('\n')
}
