import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { contract, type TransferImport } from '@berth/contract'
import { decryptBundleKey } from '@berth/server/bundle-key'
import { readTar } from '@berth/server/read-tar'
import type { Command } from 'commander'
import { type Connection, connect } from '../../credentials.ts'
import { CliError } from '../../exit-codes.ts'
import { output } from '../../output.ts'
import { type DecryptionOptions, decryptionOf } from './bundle-encryption.ts'
import { type BundleHead, headName, keyName, maxHeadBytes, readHead } from './bundle-file.ts'

/** `berth project import`: imports a file that `berth project export` wrote. */
export function addImport(project: Command): void {
  project
    .command('import <file>')
    .description('import a project from a file written by berth project export, keep its id, and start it')
    .option('--key <file>', 'age key that the file was encrypted to, instead of a passphrase')
    .option('--passphrase-stdin', 'read the passphrase from standard input')
    .addHelpText('after', '\nIts domains must be verified again. A project that already exists is not changed (409).')
    .action(async (file: string, options: DecryptionOptions, command: Command) => {
      const client = connect(command)
      const head = await sendBundle(file, await decryptionOf(options), client)
      const id = head.transfer
      try {
        const change = (state: 'staged' | 'landed' | 'active') =>
          client.call(contract.transfers.changeArrival, { params: { id }, body: { state, signer: head.signer } })
        for (const state of ['staged', 'landed'] as const) {
          output(command).note(state === 'staged' ? '▸ building' : '▸ starting')
          await change(state)
          await waitForState(state, id, client)
        }
        const { data } = await change('active')
        for (const warning of data.warnings) output(command).note(`warning: ${warning}`)
        output(command).result({ project: head.project, warnings: data.warnings }, () => `imported ${head.project}`)
      } catch (error) {
        await abortImport(id, client)
        throw error
      }
    })
}

const abortImport = (id: string, client: Connection) =>
  client.call(contract.transfers.changeArrival, { params: { id }, body: { state: 'aborted' } }).catch(() => undefined)

async function waitForState(expected: TransferImport['state'], id: string, client: Connection): Promise<void> {
  for (;;) {
    const { data } = await client.call(contract.transfers.getArrival, { params: { id } })
    if (data.state === expected) return
    if (data.state === 'failed' || data.state === 'aborted')
      throw new CliError(`The import failed: ${data.error?.message ?? data.state}. Nothing was kept.`)
    await pause(200)
  }
}

/** Reads the file once and sends each part immediately. */
async function sendBundle(
  file: string,
  decryption: Parameters<typeof decryptBundleKey>[1],
  client: Connection,
): Promise<BundleHead> {
  let head: BundleHead | undefined
  let isOpen = false
  try {
    for await (const { header, content } of readTar(createReadStream(file))) {
      const { name } = header
      if (name === headName) head = readHead((await readWhole(content)).toString('utf8'))
      else if (!head) throw new CliError(`${file} is not a project bundle`)
      else if (name === keyName) {
        const identity = await decryptBundleKey(await readWhole(content), decryption).catch(() => failDecryption())
        await client.call(contract.transfers.arrive, { params: { id: head.transfer }, body: { project: head.project, identity } })
        isOpen = true
      } else await sendFile(name.replace(/^files\//, ''), content, head, client)
    }
  } catch (error) {
    if (head && isOpen) await abortImport(head.transfer, client)
    throw error
  }
  return head ?? failNotABundle(file)
}

async function sendFile(name: string, content: AsyncIterable<Uint8Array>, { transfer, files }: BundleHead, client: Connection) {
  const listed = files.find((one) => one.name === name)
  if (!listed) throw new CliError(`The bundle is damaged: it contains ${name}, which is not in its list of files`)
  const upload = Readable.toWeb(Readable.from(content, { objectMode: false })) as unknown as ReadableStream
  const input = { params: { id: transfer, file: name }, query: { sha256: listed.sha256 }, upload }
  await client.call(contract.transfers.writeFile, input)
}

async function readWhole(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of content) {
    bytes += chunk.length
    if (bytes > maxHeadBytes) throw new CliError('The bundle is damaged: its header is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const failDecryption = (): never => {
  throw new CliError('The bundle cannot be decrypted: the passphrase or key is wrong, or the file was changed', 2)
}
const failNotABundle = (file: string): never => {
  throw new CliError(`${file} is not a project bundle`)
}
