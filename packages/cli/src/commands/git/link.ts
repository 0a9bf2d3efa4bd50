import { resolve } from 'node:path'
import { contract, type GitHostProvider } from '@berth/contract'
import { isCancel } from '@clack/prompts'
import type { Command } from 'commander'
import { connect } from '../../credentials.ts'
import { CliError } from '../../exit-codes.ts'
import { output } from '../../output.ts'
import { findLink, projectIdOf, projectOption } from '../../project-link.ts'
import { isAtTerminal, prompts } from '../../prompt.ts'
import { linkFolder } from '../init.ts'
import { providerOf } from './provider.ts'
import { originOf } from './remote.ts'

type Client = ReturnType<typeof connect>

export interface Linking {
  projectId: string
  owner: string
  repo: string
  branch?: string
  query: { provider?: GitHostProvider }
}

export function addGitLink(git: Command): void {
  git
    .command('link [repository]')
    .description('link the project to a repository and deploy every push')
    .option(...projectOption)
    .option('--branch <name>', 'branch to deploy (default: the repository’s default branch)')
    .option('--provider <host>', 'github, gitlab or gitea (default: the one that was connected first)')
    .addHelpText('after', '\nrepository is owner/name (default: the remote "origin" of this folder).')
    .action(async (repository: string | undefined, { branch }: { branch?: string }, command: Command) => {
      if (!isAtTerminal(command)) projectIdOf(command, 'berth init')
      const name = repository ? parseRepository(repository) : await originOf(resolve('.'))
      if (!name) throw new CliError('This folder has no git remote "origin". Name the repository, for example acme/shop.', 2)
      const projectId = await linkedOrNewProject(command, name.repo)
      const linking = { projectId, ...name, ...(branch ? { branch } : {}), query: providerOf(command) }
      const linked = await link(connect(command), linking)
      if (linked.problem) output(command).note(`warning: ${linked.problem}`)
      output(command).result(linked, () => `linked to ${name.owner}/${name.repo} (${linked.branch}): every push is deployed`)
    })
}

/** The project of the folder. At a terminal the user can create one, as with `berth init`. */
async function linkedOrNewProject(command: Command, repo: string): Promise<string> {
  const isLinked = command.opts().project !== undefined || findLink('.') !== null
  if (isLinked || !isAtTerminal(command)) return projectIdOf(command, 'berth init')
  const answer = await prompts.confirm({
    message: `This folder is not linked to a project. Create the project ${repo} (berth init)?`,
  })
  if (isCancel(answer) || !answer) return projectIdOf(command, 'berth init')
  const { id, name } = await linkFolder(connect(command), resolve('.'), { name: repo })
  output(command).note(`created project ${name} (${id}) and linked this folder to it (.berth/project.json)`)
  return id
}

function parseRepository(repository: string): { owner: string; repo: string } {
  const slash = repository.lastIndexOf('/')
  if (slash < 1) throw new CliError(`${repository} is not a repository name. Write it as owner/name.`, 2)
  return { owner: repository.slice(0, slash), repo: repository.slice(slash + 1) }
}

/** Sets the repository as the project's source, registers its webhook and enables automatic deployments. */
export async function link(client: Client, { projectId, owner, repo, branch, query }: Linking) {
  const { data: repository } = await client.call(contract.gitHost.getRepository, { params: { owner, repo }, query })
  const gitBranch = branch ?? repository.defaultBranch
  const source = {
    gitUrl: repository.cloneUrl,
    ...(gitBranch ? { gitBranch } : {}),
    ...(query.provider ? { gitProvider: query.provider } : {}),
  }
  await client.call(contract.projects.update, { params: { id: projectId }, body: source })
  const { data: git } = await client.call(contract.projects.getGit, { params: { id: projectId } })
  // The webhook of an app reports every repository that it is installed on.
  const hook = git.webhook.active
    ? git.webhook
    : (await client.call(contract.gitHost.registerWebhook, { params: { owner, repo }, query })).data
  await client.call(contract.projects.setAutoDeploy, { params: { id: projectId }, body: { enabled: true } })
  return { projectId, repository: repository.fullName, branch: gitBranch, webhook: hook.url, problem: git.webhook.problem }
}
