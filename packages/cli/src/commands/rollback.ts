import { contract } from '@berth/contract'
import type { Command } from 'commander'
import { connect } from '../credentials.ts'
import { Plain } from '../exit-codes.ts'
import { output } from '../output.ts'
import { projectIdOf } from '../project-link.ts'
import { watchDeployment } from '../watch-deployment.ts'

export function addRollback(program: Command): void {
  program
    .command('rollback [deployment]')
    .description('go back to a deployment by its number or id (default: the one before the live one)')
    .option('--project <id>', 'which project (default: the one this folder is linked to)')
    .action(async (wanted: string | undefined, _options, command: Command) => {
      const client = connect(command)
      const { data } = await client.call(contract.projects.listDeployments, {
        params: { id: projectIdOf(command) },
        query: { limit: 100 },
      })
      const live = data.find(({ status }) => status === 'live')
      const target = wanted
        ? data.find(({ id, number }) => id === wanted || String(number) === wanted)
        : data.find(({ status, environment }) => status === 'superseded' && environment === (live?.environment ?? 'production'))
      if (!target)
        throw new Plain(wanted ? `There is no deployment ${wanted}` : 'There is no earlier deployment to go back to', 5)
      const started = await client.call(contract.deployments.rollback, { params: { id: target.id } })
      const deployment = await watchDeployment(client, started.data.deploymentId, output(command))
      output(command).result(
        deployment,
        () => `deployment ${target.number} is live again as ${deployment.number} at ${deployment.url}`,
      )
    })
}
