import { contract, type Link } from '@berth/contract'
import { ApiError } from '@berth/contract/client'
import type { Command } from 'commander'
import { type Connection, connect } from '../../credentials.ts'
import { CliError } from '../../exit-codes.ts'
import { findProject } from '../../find-project.ts'
import { columns, output } from '../../output.ts'
import { linkedFolder, projectIdOf, projectOption, removeLink } from '../../project-link.ts'
import { watchDeployment } from '../../watch-deployment.ts'

interface LinkOptions {
  prefix?: string
  environment?: string
  restart: boolean
}

/** `berth link`, `links` and `unlink`: variables and a private network from a service to a project. */
export function addLinks(program: Command): void {
  program
    .command('link <project> <service>')
    .description('give a project the address and credentials of a service as variables')
    .option('--prefix <prefix>', 'text in front of each variable, such as REPORTS_')
    .option('--environment <environment>', 'environment that gets the variables (default: production)')
    .option('--no-restart', 'leave the running version as it is; the next deployment gets the variables')
    .action(async (projectRef: string, serviceRef: string, options: LinkOptions, command: Command) => {
      const { prefix, environment, restart } = options
      const client = connect(command)
      const id = await findProject(client, projectRef)
      const body = {
        serviceProjectId: await findProject(client, serviceRef),
        ...(prefix ? { prefix } : {}),
        ...(environment ? { environment } : {}),
      }
      const answer = await client.call(contract.links.create, { params: { id }, body })
      const restarted = restart && (await restartWith(answer.data, client, command))
      const next = restarted ? '' : '; the next deployment gets them'
      output(command).result(
        answer.data,
        () => `linked to ${answer.data.service.slug}: ${answer.data.variables.join(', ')}${next}`,
      )
    })

  program
    .command('links')
    .description('list the services that the project is linked to')
    .option(...projectOption)
    .action(async (_options, command: Command) => {
      const links = await allLinks(connect(command), projectIdOf(command))
      output(command).result(links, () => (links.length === 0 ? 'No links. Add one with berth link.' : table(links)))
    })

  program
    .command('unlink [project] [service]')
    .description('delete the link of a project to a service; without arguments: unlink the folder from its project')
    .option('--environment <environment>', 'environment of the link (default: production)')
    .action(
      async (projectRef: string | undefined, serviceRef: string | undefined, options: { environment?: string }, command) => {
        if (projectRef === undefined) return unlinkFolder(command)
        if (serviceRef === undefined) throw new CliError('Name the service as well: berth unlink <project> <service>', 2)
        const client = connect(command)
        const id = await findProject(client, projectRef)
        const found = await findLinkTo(await findProject(client, serviceRef), id, options.environment ?? 'production', client)
        await client.call(contract.links.remove, { params: { id, linkId: found.id } })
        output(command).result(
          { removed: found.id },
          () => `unlinked from ${found.service.slug}; the next deployment loses its variables`,
        )
      },
    )
}

/** Restarts the live deployment, so that it gets the variables. False if no deployment is live. */
async function restartWith({ projectId, environment }: Link, client: Connection, command: Command): Promise<boolean> {
  try {
    const { data } = await client.call(contract.deployments.restart, { params: { id: projectId }, body: { environment } })
    await watchDeployment(client, data.deploymentId, output(command))
    return true
  } catch (error) {
    if (error instanceof ApiError && error.code === 'nothing_to_restart') return false
    throw error
  }
}

async function findLinkTo(serviceProjectId: string, id: string, environment: string, client: Connection): Promise<Link> {
  const links = (await allLinks(client, id)).filter((link) => link.serviceProjectId === serviceProjectId)
  const found = links.find((link) => link.environment === environment)
  if (found) return found
  const others = links.map((link) => `--environment ${link.environment}`).join(', ')
  throw new CliError(
    `There is no such link in ${environment}.${others ? ` Others: ${others}.` : ' List links with berth links.'}`,
    5,
  )
}

const allLinks = async (client: Connection, id: string): Promise<Link[]> =>
  (await client.call(contract.links.list, { params: { id }, query: { limit: 500 } })).data

function unlinkFolder(command: Command): void {
  const folder = linkedFolder('.')
  if (!folder) throw new CliError('This folder is not linked to a project', 5)
  removeLink(folder)
  output(command).result({ folder }, () => `${folder} is no longer linked to a project`)
}

const table = (links: readonly Link[]) =>
  columns([
    ['SERVICE', 'ENVIRONMENT', 'HOST', 'VARIABLES'],
    ...links.map(({ service, environment, host, variables }) => [service.slug, environment, host, variables.join(', ')]),
  ])
