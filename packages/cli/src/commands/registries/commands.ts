import { contract, type RegistryLogin } from '@berth/contract'
import type { Command } from 'commander'
import { connect } from '../../credentials.ts'
import { CliError } from '../../exit-codes.ts'
import { columns, minute, output } from '../../output.ts'
import { readStandardInput } from '../../standard-input.ts'

interface AddOptions {
  username: string
  passwordStdin?: boolean
}

/** Logins for private images. A login is named by its id or its host. */
export function addRegistries(program: Command): void {
  const registries = program.command('registries').description('registry logins for private images')
  registries
    .command('list', { isDefault: true })
    .description("list the organisation's logins, without passwords")
    .action(async (_options, command: Command) => {
      const data = await allLogins(command)
      output(command).result(data, () => (data.length === 0 ? 'No logins. Add one with `berth registries add`.' : table(data)))
    })
  registries
    .command('add <host>')
    .description('add or replace the login for a registry; Docker Hub is docker.io')
    .requiredOption('--username <name>', 'user name at the registry')
    .option('--password-stdin', 'read the password or access token from standard input')
    .action(async (host: string, { username, passwordStdin }: AddOptions, command: Command) => {
      if (!passwordStdin) throw new CliError('No password given. Pass it on standard input with --password-stdin.', 2)
      const body = { host, username, password: await readStandardInput() }
      const { data } = await connect(command).call(contract.registries.save, { body })
      output(command).result(data, () => `saved the login of ${data.username} for ${data.host} (${data.id})`)
    })
  registries
    .command('remove <login>')
    .description('remove a login; running projects are not affected')
    .action(async (login: string, _options, command: Command) => {
      const found = (await allLogins(command)).find(({ id, host }) => id === login || host === login.toLowerCase())
      if (!found) throw new CliError(`Login ${login} does not exist. List logins with \`berth registries list\`.`, 2)
      await connect(command).call(contract.registries.remove, { params: { registryId: found.id } })
      output(command).result({ removed: found.id }, () => `removed the login for ${found.host} (${found.id})`)
    })
}

const allLogins = async (command: Command): Promise<RegistryLogin[]> =>
  (await connect(command).call(contract.registries.list, { query: { limit: 500 } })).data

const table = (all: readonly RegistryLogin[]) =>
  columns([
    ['ID', 'HOST', 'USER NAME', 'CHANGED'],
    ...all.map(({ id, host, username, updatedAt }) => [id, host, username, minute(updatedAt)]),
  ])
