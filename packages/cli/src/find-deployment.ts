import { contract, type Deployment } from '@berth/contract'
import type { Command } from 'commander'
import type { Connection } from './credentials.ts'
import { Plain } from './exit-codes.ts'
import { projectIdOf } from './project-link.ts'

/** By its number or id; without one the newest that fits. */
export async function findDeployment(
  client: Connection,
  command: Command,
  wanted: string | undefined,
  holds: (deployment: Deployment) => boolean = () => true,
): Promise<Deployment> {
  const { data } = await client.call(contract.projects.listDeployments, {
    params: { id: projectIdOf(command) },
    query: { limit: 100 },
  })
  const found = wanted ? data.find(({ id, number }) => id === wanted || String(number) === wanted) : data.find(holds)
  if (!found)
    throw new Plain(
      wanted ? `There is no deployment ${wanted}: see berth deployments` : 'There is no such deployment: see berth deployments',
      5,
    )
  return found
}
