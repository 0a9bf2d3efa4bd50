import { contract } from '@berth/contract'
import type { Command } from 'commander'
import { connect } from '../../credentials.ts'
import { columns, output } from '../../output.ts'
import { providerOf } from './provider.ts'

export function addGitRepos(git: Command): void {
  git
    .command('repos')
    .description('list repositories that your organisation can deploy')
    .option('--owner <name>', 'only repositories of this account or organisation')
    .option('--provider <host>', 'github, gitlab or gitea (default: the one that was connected first)')
    .action(async ({ owner }: { owner?: string }, command: Command) => {
      const query = { ...providerOf(command), ...(owner ? { owner } : {}) }
      const { data } = await connect(command).call(contract.gitHost.listRepositories, { query })
      const rows = data.map(({ fullName, private: isPrivate, defaultBranch, updatedAt }) => [
        fullName,
        isPrivate ? 'private' : 'public',
        defaultBranch ?? '',
        updatedAt?.slice(0, 10) ?? '',
      ])
      output(command).result(data, () => (rows.length > 0 ? columns(rows) : 'no repositories found'))
    })
}
