import { contract } from '@berth/contract'
import type { Command } from 'commander'
import { connect } from '../../credentials.ts'
import { Plain } from '../../exit-codes.ts'
import { columns, output } from '../../output.ts'
import { projectIdOf } from '../../project-link.ts'

interface Options {
  environment: string
  secret?: boolean
}

export function addEnv(program: Command): void {
  const env = program
    .command('env')
    .description('environment variables of a project; a change counts from the next deployment on')
  const common = (command: Command) =>
    command
      .option('--project <id>', 'which project (default: the one this folder is linked to)')
      .option('--environment <slug>', 'which environment', 'production')

  common(env.command('list').description('variables; secret values are masked')).action(
    async ({ environment }: Options, command: Command) => {
      const { data } = await connect(command).call(contract.projects.listEnv, {
        params: { id: projectIdOf(command) },
        query: { environment },
      })
      output(command).result(data, () => columns(data.map(({ key, value }) => [key, value])))
    },
  )

  common(env.command('set <KEY=value...>').description('set variables; all others stay as they are'))
    .option('--secret', 'never show the values again')
    .action(async (pairs: string[], { environment, secret }: Options, command: Command) => {
      const upserts = pairs.map((pair) => ({ ...keyAndValue(pair), ...(secret ? { isSecret: true } : {}) }))
      await change(command, { environment, upserts })
    })

  common(env.command('unset <KEY...>').description('remove variables')).action(
    async (deletes: string[], { environment }: Options, command: Command) => {
      await change(command, { environment, deletes })
    },
  )
}

async function change(
  command: Command,
  body: { environment: string; upserts?: { key: string; value: string }[]; deletes?: string[] },
) {
  const { data } = await connect(command).call(contract.projects.changeEnv, { params: { id: projectIdOf(command) }, body })
  output(command).result(data, () => columns(data.map(({ key, value }) => [key, value])))
}

function keyAndValue(pair: string): { key: string; value: string } {
  const at = pair.indexOf('=')
  if (at < 1) throw new Plain(`${pair} is not of the form KEY=value`, 2)
  return { key: pair.slice(0, at), value: pair.slice(at + 1) }
}
