import { contract, type Deployment } from '@berth/contract'
import type { Command } from 'commander'
import { type Connection, connect } from '../credentials.ts'
import { CliError } from '../exit-codes.ts'
import { findDeployment, listDeployments } from '../find-deployment.ts'
import { output } from '../output.ts'
import { projectOption } from '../project-link.ts'
import { liveText, watchDeployment } from '../watch-deployment.ts'

export function addRollback(program: Command): void {
  program
    .command('rollback [deployment]')
    .description('roll back to a deployment by number or id (default: the deployment before the live one)')
    .option(...projectOption)
    .action(async (deploymentRef: string | undefined, _options, command: Command) => {
      const client = connect(command)
      const target = deploymentRef
        ? await findDeployment(client, command, deploymentRef)
        : await previousDeployment(client, command)
      const started = await client.call(contract.deployments.rollback, { params: { id: target.id } })
      const deployment = await watchDeployment(client, started.data.deploymentId, output(command))
      output(command).result(deployment, () =>
        liveText(deployment, `deployment ${target.number} is live again as ${deployment.number}`),
      )
    })
}

/** The deployment before the live one, in the same environment. */
async function previousDeployment(client: Connection, command: Command): Promise<Deployment> {
  const deployments = await listDeployments(client, command)
  const environment = deployments.find(({ status }) => status === 'live')?.environment ?? 'production'
  const previous = deployments.find((one) => one.status === 'superseded' && one.environment === environment)
  if (!previous) throw new CliError('There is no earlier deployment to roll back to', 5)
  return previous
}
