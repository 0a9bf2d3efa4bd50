import { contract, type Deployment } from '@berth/contract'
import type { Command } from 'commander'
import { connect } from '../credentials.ts'
import { findDeployment } from '../find-deployment.ts'
import { columns, minute, output } from '../output.ts'
import { projectIdOf, projectOption } from '../project-link.ts'
import { liveText, watchDeployment } from '../watch-deployment.ts'

/** `berth deployments`, `redeploy`, `restart` and `cancel`. */
export function addDeployments(program: Command): void {
  addList(program)
  addRedeploy(program)
  addRestart(program)
  addCancel(program)
}

function addList(program: Command): void {
  program
    .command('deployments')
    .description('list deployments, newest first')
    .option(...projectOption)
    .option('--environment <slug>', 'only deployments of this environment')
    .option('-n, --limit <count>', 'how many', '20')
    .action(async ({ environment, limit }: { environment?: string; limit: string }, command: Command) => {
      const { data } = await connect(command).call(contract.projects.listDeployments, {
        params: { id: projectIdOf(command) },
        query: { limit: Number(limit), ...(environment ? { environment } : {}) },
      })
      const rows = data.map((one) => [
        String(one.number),
        one.status,
        one.environment,
        one.trigger,
        one.commit?.sha?.slice(0, 7) ?? '-',
        minute(one.createdAt),
        one.error?.message ?? '',
      ])
      output(command).result(data, () => columns([['NUMBER', 'STATUS', 'ENVIRONMENT', 'BY', 'COMMIT', 'WHEN', ''], ...rows]))
    })
}

function addRedeploy(program: Command): void {
  program
    .command('redeploy [deployment]')
    .description('build and deploy the same source again with the current environment variables (default: newest deployment)')
    .option(...projectOption)
    .action(async (deploymentRef: string | undefined, _options, command: Command) => {
      const client = connect(command)
      const target = await findDeployment(client, command, deploymentRef)
      const { data } = await client.call(contract.deployments.redeploy, { params: { id: target.id } })
      const deployment = await watchDeployment(client, data.deploymentId, output(command))
      output(command).result(deployment, () => liveText(deployment))
    })
}

function addRestart(program: Command): void {
  program
    .command('restart')
    .description('restart the live deployment with the current environment variables and resources; no build, no downtime')
    .option(...projectOption)
    .option('--environment <slug>', 'environment (default: production)')
    .action(async ({ environment }: { environment?: string }, command: Command) => {
      const client = connect(command)
      const { data } = await client.call(contract.deployments.restart, {
        params: { id: projectIdOf(command) },
        body: environment ? { environment } : {},
      })
      const deployment = await watchDeployment(client, data.deploymentId, output(command))
      output(command).result(deployment, () => liveText(deployment, 'restarted, live'))
    })
}

function addCancel(program: Command): void {
  program
    .command('cancel [deployment]')
    .description('cancel a running deployment (default: the newest one)')
    .option(...projectOption)
    .action(async (deploymentRef: string | undefined, _options, command: Command) => {
      const client = connect(command)
      const isActive = ({ status }: Deployment) => ['queued', 'building', 'deploying'].includes(status)
      const noneMessage = 'No deployment is running. List deployments with berth deployments.'
      const id = deploymentRef?.startsWith('dep_')
        ? deploymentRef
        : (await findDeployment(client, command, deploymentRef, isActive, noneMessage)).id
      const { data } = await client.call(contract.deployments.cancel, { params: { id } })
      output(command).result(data, () => `deployment ${data.number} is ${data.status}`)
    })
}
