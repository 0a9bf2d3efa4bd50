import { readFile } from 'node:fs/promises'
import { contract, type Server } from '@berth/contract'
import { type Command, InvalidArgumentError } from 'commander'
import { connect } from '../../credentials.ts'
import { CliError } from '../../exit-codes.ts'
import { columns, minute, output } from '../../output.ts'
import { readStandardInput } from '../../standard-input.ts'

interface AddOptions {
  host: string
  port?: number
  user?: string
  key?: string
  passwordStdin?: boolean
  dockerSocket?: string
}

/** Servers that are reached over SSH. A server is selected by its id or its name. */
export function addServers(program: Command): void {
  const servers = program.command('servers').description('manage servers that run projects, connected over SSH')
  addList(servers)
  addAdd(servers)
  addCheck(servers)
  addRemove(servers)
}

function addList(servers: Command): void {
  servers
    .command('list')
    .description("list the organisation's servers")
    .action(async (_options, command: Command) => {
      const { data } = await connect(command).call(contract.servers.list, {})
      output(command).result(data, () => (data.length === 0 ? 'No servers. Add one with `berth servers add`.' : table(data)))
    })
}

function addAdd(servers: Command): void {
  servers
    .command('add <name>')
    .description('add a server, check it and pin its host key')
    .requiredOption('--host <address>', 'host name or IP address')
    .option('--port <n>', 'SSH port (default: 22)', port)
    .option('--user <name>', 'SSH user (default: root)')
    .option('--key <file>', 'private key without a passphrase, used for this server only')
    .option('--password-stdin', 'read the password from standard input instead')
    .option('--docker-socket <path>', 'path of the Docker socket (default: /var/run/docker.sock)')
    .action(async (name: string, options: AddOptions, command: Command) => {
      const client = connect(command)
      const { host, port, user, dockerSocket } = options
      const body = {
        ...{ name, host },
        ...(port ? { port } : {}),
        ...(user ? { user } : {}),
        ...(dockerSocket ? { dockerSocket } : {}),
        ...(await credential(options)),
      }
      const { data: server } = await client.call(contract.servers.create, { body })
      output(command).note(`added ${server.id}; checking it`)
      const { data: check } = await client.call(contract.servers.check, { params: { id: server.id } })
      output(command).result({ ...server, ...check }, () => checkText(server, check))
    })
}

function addCheck(servers: Command): void {
  servers
    .command('check <server>')
    .description('check the SSH login and Docker')
    .action(async (nameOrId: string, _options, command: Command) => {
      const server = await findServer(nameOrId, command)
      const { data: check } = await connect(command).call(contract.servers.check, { params: { id: server.id } })
      output(command).result(check, () => checkText(server, check))
    })
}

function addRemove(servers: Command): void {
  servers
    .command('remove <server>')
    .description('remove a server that no project uses; nothing on the server changes')
    .action(async (nameOrId: string, _options, command: Command) => {
      const { id, name } = await findServer(nameOrId, command)
      await connect(command).call(contract.servers.remove, { params: { id } })
      output(command).result({ removed: id }, () => `removed ${printable(name)} (${id})`)
    })
}

async function credential({ key, passwordStdin }: AddOptions): Promise<{ privateKey?: string; password?: string }> {
  if (key && passwordStdin) throw new CliError('Use either --key or --password-stdin, not both', 2)
  if (passwordStdin) return { password: await readStandardInput() }
  if (!key) throw new CliError('No credentials given. Use --key with a private key, or --password-stdin.', 2)
  const privateKey = await readFile(key, 'utf8').catch((error: Error) => {
    throw new CliError(`The key cannot be read: ${error.message}`, 2)
  })
  return { privateKey }
}

/** Finds a server by its id or its name. */
export async function findServer(nameOrId: string, command: Command): Promise<Server> {
  const { data } = await connect(command).call(contract.servers.list, { query: { limit: 500 } })
  const found = data.filter(({ id, name }) => id === nameOrId || name === nameOrId)
  if (found.length > 1) throw new CliError(`${found.length} servers are named ${nameOrId}. Use the id instead.`, 2)
  return found[0] ?? fail(`Server ${nameOrId} does not exist. List servers with \`berth servers list\`.`)
}

const fail = (message: string): never => {
  throw new CliError(message, 2)
}

const table = (all: readonly Server[]) => [rows(all), ...all.flatMap(reason)].join('\n')

const reason = ({ name, status, statusReason }: Server) =>
  status === 'unreachable' && statusReason ? [`\n${printable(name)}: ${printable(statusReason)}`] : []

const rows = (all: readonly Server[]) =>
  columns([
    ['ID', 'NAME', 'ADDRESS', 'LOGIN', 'STATUS', 'CHECKED', 'HOST KEY'],
    ...all.map(({ id, name, host, port, user, authentication, status, checkedAt, hostKey }) => [
      id,
      printable(name),
      `${user}@${host}:${port}`,
      authentication === 'privateKey' ? 'key' : authentication,
      status,
      checkedAt ? minute(checkedAt) : 'never',
      hostKey ?? 'not pinned',
    ]),
  ])

const checkText = ({ name }: Server, check: { hostKey: string; docker: { version: string } | null; latencyMs: number }) =>
  `${printable(name)} is reachable: Docker ${printable(check.docker?.version ?? 'does not run')}, ${check.latencyMs} ms, host key ${check.hostKey}`

/** Removes control characters, which a terminal would interpret, from text that others wrote. */
const printable = (text: string) => text.replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '')

function port(value: string): number {
  const number = Number(value)
  if (!Number.isInteger(number) || number < 1 || number > 65_535)
    throw new InvalidArgumentError('Must be a port from 1 to 65535.')
  return number
}
