import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { contract, type TransferExport } from '@berth/contract'
import { encryptBundleKey, newBundleKey } from '@berth/server/bundle-key'
import { newId } from '@berth/server/ids'
import { tarEnd } from '@berth/server/tar-header'
import { fileEntry, textEntry } from '@berth/server/write-tar'
import { type Command, Option } from 'commander'
import { type Connection, connect } from '../../credentials.ts'
import { CliError } from '../../exit-codes.ts'
import { output } from '../../output.ts'
import { byteSize } from '../../quantities.ts'
import { type EncryptionOptions, encryptionOf } from './bundle-encryption.ts'
import { type BundleHead, headName, keyName } from './bundle-file.ts'
import { namedProject } from './named-project.ts'

interface Options extends EncryptionOptions {
  output: string
  withoutData: boolean
}

/** `berth project export`: a project as one encrypted file. */
export function addExport(parent: Command): void {
  parent
    .command('export [project]')
    .description(
      'export a project into one encrypted file: config, variables, domains, rules, grants, source, volumes and history',
    )
    .requiredOption('-o, --output <file>', 'path of the file to write')
    .option('--without-data', 'do not export its volumes', false)
    .addOption(new Option('--with-data', 'the default').hideHelp())
    .option('--recipient <age1…>', 'encrypt to this age key instead of a passphrase')
    .option('--passphrase-stdin', 'read the passphrase from standard input')
    .addHelpText('after', helpText)
    .action(async (project: string | undefined, options: Options, command: Command) => {
      const client = connect(command)
      const id = await namedProject(client, project)
      const encryption = await encryptionOf(options)
      const key = await newBundleKey()
      const transfer = newId('trf')
      const body = { transfer, recipient: key.recipient, withData: !options.withoutData }
      await client.call(contract.transfers.depart, { params: { id }, body })
      try {
        const packed = await waitUntilPacked(client, transfer)
        const sizeBytes = packed.files.reduce((sum, file) => sum + file.sizeBytes, 0)
        await write(options.output, packed, await encryptBundleKey(key.identity, encryption), client)
        output(command).result(
          { project: id, file: options.output, sizeBytes },
          () => `${id} is in ${options.output} (${byteSize(sizeBytes)})`,
        )
      } finally {
        await client
          .call(contract.transfers.changeDeparture, { params: { id: transfer }, body: { state: 'aborted' } })
          .catch(() => undefined)
      }
    })
}

const helpText = `
The project keeps running and is not changed. The file is encrypted in the age format, with a passphrase unless
--recipient names a key; anyone with the file and its passphrase or key can read all secrets of the project. Volumes are
read while the project writes to them: for a consistent copy disable the project first (dashboard: Settings), or use
backups. Import it with: berth project import <file>`

async function waitUntilPacked(client: Connection, id: string): Promise<TransferExport> {
  for (;;) {
    const { data } = await client.call(contract.transfers.getDeparture, { params: { id } })
    if (data.state === 'packed') return data
    if (data.state !== 'packing') throw new CliError(`The export failed: ${data.error?.message ?? data.state}`)
    await pause(200)
  }
}

/** Writes the whole file or nothing. */
async function write(
  file: string,
  { transfer, projectId, signer, files }: TransferExport,
  key: Uint8Array,
  client: Connection,
): Promise<void> {
  const temporaryFile = `${file}.${process.pid}.draft`
  const head: BundleHead = { format: 'berth-bundle/1', transfer, project: projectId, signer, files }
  async function* tar(): AsyncGenerator<Uint8Array> {
    yield textEntry({ name: headName, mode: 0o644 }, Buffer.from(JSON.stringify(head)))
    yield textEntry({ name: keyName, mode: 0o644 }, key)
    for (const { name, sizeBytes } of files) {
      const bytes = await client.bytes(contract.transfers.readFile, { params: { id: transfer, file: name } })
      yield* fileEntry({ name: `files/${name}`, mode: 0o644, size: sizeBytes }, Readable.fromWeb(bytes as never))
    }
    yield tarEnd
  }
  try {
    await pipeline(tar, createWriteStream(temporaryFile, { mode: 0o600 }))
    await rename(temporaryFile, file)
  } catch (error) {
    await rm(temporaryFile, { force: true })
    throw error
  }
}
