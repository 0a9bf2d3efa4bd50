import { readFileSync } from 'node:fs'
import { type BackupDestination, contract, type DestinationBody } from '@berth/contract'
import type { Command } from 'commander'
import { connect } from '../../credentials.ts'
import { CliError } from '../../exit-codes.ts'
import { columns, minute, output } from '../../output.ts'
import { readStandardInput } from '../../standard-input.ts'

interface AddOptions {
  kind: string
  path?: string
  endpoint?: string
  region?: string
  bucket?: string
  prefix?: string
  accessKeyId?: string
  secretStdin?: boolean
  forcePathStyle?: boolean
  host?: string
  port?: string
  user?: string
  passwordStdin?: boolean
  key?: string
  hostKey?: string
}

/** `berth backups destinations …`: locations of backups. A destination is named by its id or its name. */
export function addDestinations(backups: Command): void {
  const destinations = backups.command('destinations').description('list, add, check and remove backup destinations')
  destinations
    .command('list', { isDefault: true })
    .description("list the organisation's destinations, without secrets")
    .action(async (_options, command: Command) => {
      const data = await allDestinations(command)
      output(command).result(data, () =>
        data.length === 0 ? 'No destinations. Add one with `berth backups destinations add`.' : table(data),
      )
    })
  addAdd(destinations)
  destinations
    .command('check <destination>')
    .description('write, read and delete a small object; exit code 1 if that fails')
    .action(async (reference: string, _options, command: Command) => {
      await check(await findDestination(reference, command), command)
    })
  destinations
    .command('remove <destination>')
    .description('remove a destination that no policy uses')
    .option('--force', 'remove it although it stores backups, which can no longer be restored then')
    .action(async (reference: string, { force }: { force?: boolean }, command: Command) => {
      const { id, name } = await findDestination(reference, command)
      const query = force ? { force } : {}
      await connect(command).call(contract.backups.deleteDestination, { params: { id }, query })
      output(command).result({ removed: id }, () => `removed destination ${name} (${id})`)
    })
}

function addAdd(destinations: Command): void {
  destinations
    .command('add <name>')
    .description('add a destination and check it')
    .requiredOption('--kind <kind>', 'local, s3 or sftp')
    .option('--path <folder>', 'local: folder below a backup root of the instance; sftp: folder on the server')
    .option('--bucket <name>', 's3: name of the bucket')
    .option('--prefix <folder>', 's3: folder in the bucket')
    .option('--endpoint <address>', 's3: address of an S3-compatible server (default: AWS)')
    .option('--region <name>', 's3: region of the bucket')
    .option('--access-key-id <id>', 's3: access key')
    .option('--secret-stdin', 's3: read the secret of the access key from standard input')
    .option('--force-path-style', 's3: address the bucket in the path')
    .option('--host <name>', 'sftp: host name or address')
    .option('--port <number>', 'sftp: SSH port (default: 22)')
    .option('--user <name>', 'sftp: user to sign in as')
    .option('--password-stdin', 'sftp: read the password from standard input')
    .option('--key <file>', 'sftp: file with the private key')
    .option('--host-key <fingerprint>', 'sftp: SHA-256 fingerprint of the host key (default: the one of the first contact)')
    .action(async (name: string, options: AddOptions, command: Command) => {
      // The instance validates the kind and its fields.
      const body = { name, kind: options.kind, config: await configOf(options) } as unknown as DestinationBody
      const { data } = await connect(command).call(contract.backups.createDestination, { body })
      output(command).note(`added destination ${data.name} (${data.id})`)
      await check(data, command)
    })
}

async function configOf({ kind: _kind, port, secretStdin, passwordStdin, key, ...texts }: AddOptions) {
  if (secretStdin && passwordStdin) throw new CliError('Use either --secret-stdin or --password-stdin', 2)
  return {
    ...texts,
    ...(port === undefined ? {} : { port: Number(port) }),
    ...(secretStdin ? { secretAccessKey: await readStandardInput() } : {}),
    ...(passwordStdin ? { password: await readStandardInput() } : {}),
    ...(key === undefined ? {} : { privateKey: readKey(key) }),
  }
}

function readKey(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new CliError(`--key ${file} cannot be read: ${(error as Error).message}`, 2)
  }
}

async function check({ id, name }: BackupDestination, command: Command): Promise<void> {
  const { data } = await connect(command).call(contract.backups.checkDestination, { params: { id } })
  if (!data.ok) throw new CliError(`Destination ${name} (${id}) does not work: ${data.reason ?? 'unknown reason'}`, 1)
  output(command).result({ id, ...data }, () => `destination ${name} (${id}) works: an object was written, read and deleted`)
}

/** The destination with this id or name. */
export async function findDestination(reference: string, command: Command): Promise<BackupDestination> {
  const all = await allDestinations(command)
  const found = all.filter(({ id, name }) => id === reference || name === reference)
  if (found.length > 1)
    throw new CliError(`Several destinations are named ${reference}. Use an id: ${found.map(({ id }) => id).join(', ')}.`, 2)
  if (found[0]) return found[0]
  const known =
    all.length > 0
      ? `Destinations here: ${all.map(({ name }) => name).join(', ')}.`
      : 'Add one with `berth backups destinations add`.'
  throw new CliError(`No destination ${reference}. ${known}`, 5)
}

export const allDestinations = async (command: Command): Promise<BackupDestination[]> =>
  (await connect(command).call(contract.backups.listDestinations, { query: { limit: 500 } })).data

const table = (all: readonly BackupDestination[]) =>
  columns([
    ['ID', 'NAME', 'KIND', 'LOCATION', 'LAST CHECK'],
    ...all.map(({ id, name, kind, config, lastCheck }) => [
      id,
      name,
      kind,
      locationOf(config),
      lastCheck ? `${lastCheck.ok ? 'works' : `failed: ${lastCheck.reason ?? ''}`} ${minute(lastCheck.checkedAt)}` : 'never',
    ]),
  ])

const locationOf = ({ path, bucket, prefix, host }: BackupDestination['config']) =>
  bucket ? [bucket, prefix].filter(Boolean).join('/') : [host, path].filter(Boolean).join(':')
