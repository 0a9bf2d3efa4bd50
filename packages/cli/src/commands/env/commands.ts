import { contract } from '@berth/contract'
import type { Command } from 'commander'
import { connect } from '../../credentials.ts'
import { CliError } from '../../exit-codes.ts'
import { columns, output } from '../../output.ts'
import { projectIdOf, projectOption } from '../../project-link.ts'
import { readEnvFile, writeEnvFile } from './env-file.ts'
import { nameKeys } from './key-errors.ts'

interface Options {
  environment: string
  secret?: boolean
}

export function addEnv(program: Command): void {
  const env = program
    .command('env')
    .description('environment variables of a project; a change takes effect after berth restart or the next deployment')
  const common = (command: Command) =>
    command.option(...projectOption).option('--environment <slug>', 'environment', 'production')

  common(env.command('list').description('list variables; secret values are masked')).action(
    async ({ environment }: Options, command: Command) => {
      const { data } = await connect(command).call(contract.projects.listEnv, {
        params: { id: projectIdOf(command) },
        query: { environment },
      })
      output(command).result(data, () => columns(data.map(({ key, value }) => [key, value])))
    },
  )

  common(env.command('set <KEY=value...>').description('set variables; all others are unchanged'))
    .option('--secret', 'store as secrets: the values are never shown again')
    .action(async (pairs: string[], { environment, secret }: Options, command: Command) => {
      const upserts = pairs.map((pair) => ({ ...keyAndValue(pair), ...(secret ? { isSecret: true } : {}) }))
      await change(command, { environment, upserts })
    })

  common(env.command('pull [file]').description('write the variables into a file (default: .env); secret values are left empty'))
    .option('--force', 'overwrite an existing file')
    .action(async (file: string | undefined, options: Options & { force?: boolean }, command: Command) => {
      await pullEnv(file ?? '.env', options, command)
    })

  common(env.command('push [file]').description('set the variables from a file (default: .env); all others are unchanged'))
    .option('--secret', 'store as secrets: the values are never shown again')
    .action(async (file: string | undefined, { environment, secret }: Options, command: Command) => {
      const upserts = readEnvFile(file ?? '.env').map((pair) => ({ ...pair, ...(secret ? { isSecret: true } : {}) }))
      await change(command, { environment, upserts })
    })

  common(env.command('unset <KEY...>').description('remove variables')).action(
    async (deletes: string[], { environment }: Options, command: Command) => {
      await refuseUnknown(command, environment, deletes)
      await change(command, { environment, deletes })
    },
  )
}

async function pullEnv(file: string, { environment, force }: Options & { force?: boolean }, command: Command): Promise<void> {
  const { data } = await connect(command).call(contract.projects.listEnv, {
    params: { id: projectIdOf(command) },
    query: { environment },
  })
  writeEnvFile(file, data, force === true)
  const hidden = data.filter(({ isSecret }) => isSecret).length
  output(command).result({ file, variables: data.length, hidden }, () =>
    [
      `wrote ${data.length} variables to ${file}`,
      ...(hidden > 0 ? [`${hidden} are secret: their values are left empty`] : []),
    ].join('\n'),
  )
}

async function change(
  command: Command,
  body: { environment: string; upserts?: { key: string; value: string }[]; deletes?: string[] },
) {
  const { data } = await connect(command)
    .call(contract.projects.changeEnv, { params: { id: projectIdOf(command) }, body })
    .catch((error) => Promise.reject(nameKeys(error, body)))
  const names = data.map(({ key, isSecret, environment }) => ({ key, isSecret, environment }))
  const changed = [...(body.upserts ?? []).map(({ key }) => `set ${key}`), ...(body.deletes ?? []).map((key) => `removed ${key}`)]
  output(command).result(names, () => [...changed, `takes effect after a restart: ${restartCommand(command)}`].join('\n'))
}

/** The command to run next, with `--project` if this command had it. */
function restartCommand(command: Command): string {
  const { project } = command.opts<{ project?: string }>()
  return project ? `berth restart --project ${project}` : 'berth restart'
}

/** Rejects unknown keys, which are probably typos. */
async function refuseUnknown(command: Command, environment: string, keys: readonly string[]): Promise<void> {
  const { data } = await connect(command).call(contract.projects.listEnv, {
    params: { id: projectIdOf(command) },
    query: { environment },
  })
  const unknown = keys.filter((key) => !data.some((variable) => variable.key === key))
  if (unknown.length > 0) throw new CliError(`Variable ${unknown.join(', ')} does not exist in ${environment}`, 5)
}

function keyAndValue(pair: string): { key: string; value: string } {
  const at = pair.indexOf('=')
  if (at < 1) throw new CliError(`${pair} is invalid. Write KEY=value.`, 2)
  return { key: pair.slice(0, at), value: pair.slice(at + 1) }
}
