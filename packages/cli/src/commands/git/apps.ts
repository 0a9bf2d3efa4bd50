import { contract, type GitApplication, type GitHostProvider } from '@berth/contract'
import type { Command } from 'commander'
import { connect } from '../../credentials.ts'
import { CliError } from '../../exit-codes.ts'
import { columns, output } from '../../output.ts'
import { readStandardInput } from '../../standard-input.ts'
import { checkedProvider } from './provider.ts'

interface SetOptions {
  hostUrl?: string
  clientId: string
  clientSecretStdin?: boolean
}

/** Applications at git hosts that the instance signs in with; for operators. */
export function addGitApps(git: Command): void {
  const apps = git.command('apps').description('applications at git hosts that the instance signs in with (operators)')
  apps
    .command('list', { isDefault: true })
    .description('list the application of each git host, without secrets')
    .action(async (_options, command: Command) => {
      const { data } = await connect(command).call(contract.gitHost.listApplications, {})
      const print = output(command)
      for (const problem of new Set(data.filter(({ kind }) => kind).flatMap(({ problems }) => problems))) print.note(problem)
      print.result(data, () => table(data))
    })
  apps
    .command('set <host>')
    .description('store the OAuth application of github, gitlab or gitea; it is used at once')
    .requiredOption('--client-id <id>', 'client id of the application')
    .option('--host-url <address>', 'address of the GitLab, Gitea or Forgejo host (default: gitlab.com, gitea.com)')
    .option('--client-secret-stdin', 'read the client secret from standard input')
    .addHelpText('after', '\nA GitHub App is created in the dashboard under Git: GitHub asks in the browser.')
    .action(async (host: string, { hostUrl, clientId, clientSecretStdin }: SetOptions, command: Command) => {
      const provider = checkedProvider(host)
      if (!clientSecretStdin) throw new CliError('No secret given. Pass it on standard input with --client-secret-stdin.', 2)
      const body = { clientId, clientSecret: await readStandardInput(), ...(hostUrl ? { url: hostUrl } : {}) }
      const { data } = await connect(command).call(contract.gitHost.saveApplication, { params: { provider }, body })
      const print = output(command)
      for (const problem of data.problems) print.note(problem)
      print.result(
        data,
        () => `stored the application ${data.clientId} at ${data.url}; connect with: berth git connect --provider ${provider}`,
      )
    })
  apps
    .command('remove <host>')
    .description('remove the stored application of a git host; its connections end')
    .action(async (host: string, _options, command: Command) => {
      const provider = checkedProvider(host)
      await connect(command).call(contract.gitHost.removeApplication, { params: { provider } })
      output(command).result({ removed: provider }, () => `removed the application of ${provider}; its connections have ended`)
    })
}

const table = (all: readonly GitApplication[]) =>
  columns([
    ['HOST', 'ADDRESS', 'APPLICATION', 'SET BY', 'ORGANISATIONS'],
    ...all.map(({ provider, url, kind, appSlug, clientId, origin, connectedOrganizations }) => [
      ...[provider satisfies GitHostProvider, url, kind === null ? '-' : `${kind} ${appSlug ?? clientId ?? ''}`.trim()],
      ...[origin === 'stored' ? 'dashboard' : origin === 'none' ? '-' : origin, String(connectedOrganizations)],
    ]),
  ])
