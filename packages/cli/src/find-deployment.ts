import { contract, type Deployment } from '@berth/contract'
import type { Command } from 'commander'
import type { Connection } from './credentials.ts'
import { CliError } from './exit-codes.ts'
import { projectIdOf } from './project-link.ts'

/** The newest deployments of the project. */
export async function listDeployments(client: Connection, command: Command): Promise<Deployment[]> {
  const { data } = await client.call(contract.projects.listDeployments, {
    params: { id: projectIdOf(command) },
    query: { limit: 100 },
  })
  return data
}

/**
 * Finds a deployment by its number or id; without one, the newest that satisfies `holds`. Throws `none` if there is no such
 * deployment.
 */
export async function findDeployment(
  client: Connection,
  command: Command,
  wanted: string | undefined,
  holds: (deployment: Deployment) => boolean = () => true,
  none = 'Nothing is deployed. Run berth deploy.',
): Promise<Deployment> {
  const deployments = await listDeployments(client, command)
  const found = wanted
    ? deployments.find(({ id, number }) => id === wanted || String(number) === wanted)
    : deployments.find(holds)
  if (!found)
    throw new CliError(wanted ? `Deployment ${wanted} does not exist. List deployments with berth deployments.` : none, 5)
  return found
}
