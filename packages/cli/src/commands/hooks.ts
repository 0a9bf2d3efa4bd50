import { contract, type DeployHook } from '@berth/contract'
import type { Command } from 'commander'
import { connect } from '../credentials.ts'
import { CliError } from '../exit-codes.ts'
import { columns, minute, output } from '../output.ts'
import { projectIdOf, projectOption } from '../project-link.ts'

/** `berth hooks …`: URLs that deploy the project. A hook is named by its id or its name. */
export function addHooks(program: Command): void {
  const hooks = program.command('hooks').description('manage deploy hooks: URLs that deploy the project')
  const common = (command: Command) => command.option(...projectOption)

  common(hooks.command('list', { isDefault: true }).description('list deploy hooks, without their URLs')).action(
    async (_options, command: Command) => {
      const data = await allHooks(command)
      output(command).result(data, () =>
        data.length === 0 ? 'No deploy hooks. Create one with berth hooks add <name>.' : table(data),
      )
    },
  )

  common(hooks.command('add <name>').description('create a deploy hook; its URL is printed once'))
    .option('--branch <branch>', "branch to deploy (default: the environment's own)")
    .option('--environment <environment>', 'environment to deploy (default: production)')
    .action(async (name: string, { branch, environment }: { branch?: string; environment?: string }, command: Command) => {
      const body = { name, ...(branch ? { branch } : {}), ...(environment ? { environment } : {}) }
      const { data } = await connect(command).call(contract.deployments.createHook, {
        params: { id: projectIdOf(command) },
        body,
      })
      output(command).result(data, () => data.url)
      output(command).note(`POST to this URL deploys ${data.environment}. It is not shown again.`)
    })

  common(hooks.command('remove <hook>').description('delete a deploy hook; its URL stops working')).action(
    async (hookRef: string, _options, command: Command) => {
      const found = (await allHooks(command)).filter(({ id, name }) => id === hookRef || name === hookRef)
      const [hook] = found
      if (!hook) throw new CliError(`The project has no deploy hook ${hookRef}. List its hooks with berth hooks list.`, 5)
      if (found.length > 1) throw new CliError(`Several deploy hooks are named ${hookRef}. Use an id instead.`, 2)
      const params = { id: projectIdOf(command), hookId: hook.id }
      await connect(command).call(contract.deployments.removeHook, { params })
      output(command).result({ removed: hook.id }, () => `${hook.name} (${hook.id}) is deleted`)
    },
  )
}

const allHooks = async (command: Command): Promise<DeployHook[]> => {
  const input = { params: { id: projectIdOf(command) }, query: { limit: 500 } }
  return (await connect(command).call(contract.deployments.listHooks, input)).data
}

const table = (hooks: readonly DeployHook[]) =>
  columns([
    ['ID', 'NAME', 'ENVIRONMENT', 'BRANCH', 'LAST USED'],
    ...hooks.map(({ id, name, environment, branch, lastUsedAt }) => [
      id,
      name,
      environment,
      branch ?? '',
      lastUsedAt ? minute(lastUsedAt) : 'never',
    ]),
  ])
