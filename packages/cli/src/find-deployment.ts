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
 * Finds a deployment by its number or id; without one, the newest that `matches` accepts. Throws `noneMessage` if there is no such
 * deployment.
 */
export async function findDeployment(
  client: Connection,
  command: Command,
  deploymentRef: string | undefined,
  matches: (deployment: Deployment) => boolean = () => true,
  noneMessage = 'Nothing is deployed. Run berth deploy.',
): Promise<Deployment> {
  const deployments = await listDeployments(client, command)
  const found = deploymentRef
    ? deployments.find(({ id, number }) => id === deploymentRef || String(number) === deploymentRef)
    : deployments.find(matches)
  if (!found)
    throw new CliError(
      deploymentRef ? `Deployment ${deploymentRef} does not exist. List deployments with berth deployments.` : noneMessage,
      5,
    )
  return found
}
