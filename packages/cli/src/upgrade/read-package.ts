import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { createGunzip } from 'node:zlib'
import { readTar } from '@berth/server/read-tar'
import { isVersion, packageName } from '../../bin/versions.js'
import { errorText } from '../error-text.ts'
import { CliError } from '../exit-codes.ts'

export interface PackageFacts {
  version: string
  /** SHA-512, as npm writes it. */
  integrity: string
  /** Major version of the Node that the package brings. Null: it brings none. */
  nodeMajor: number | null
}

const maxManifestBytes = 64 * 1024
const maxUnpackedBytes = 500 * 1024 * 1024

/** Reads a package file to its end, so that a damaged one is refused, and checks that it is a package of Berth. */
export async function readPackage(file: string): Promise<PackageFacts> {
  const hash = createHash('sha512')
  const packed = createReadStream(file)
  packed.on('data', (chunk) => hash.update(chunk))
  const unpacked = createGunzip()
  packed.on('error', (error) => unpacked.destroy(error))
  packed.pipe(unpacked)
  try {
    const manifest = await findManifest(unpacked)
    const { name, version, optionalDependencies } = JSON.parse(manifest) as Record<string, unknown>
    if (name !== packageName) throw new CliError(`${file} is not a package of Berth: it is ${JSON.stringify(name ?? null)}.`)
    if (!isVersion(version)) throw new CliError(`${file} has no valid version: ${JSON.stringify(version ?? null)}.`)
    return { version, integrity: `sha512-${hash.digest('base64')}`, nodeMajor: broughtNode(optionalDependencies) }
  } catch (error) {
    if (error instanceof CliError) throw error
    throw new CliError(`${file} cannot be read as a package: ${errorText(error)}. Fetch it again.`)
  } finally {
    packed.destroy()
  }
}

async function findManifest(content: AsyncIterable<Uint8Array>): Promise<string> {
  let manifest: string | undefined
  let total = 0
  for await (const { header, content: entry } of readTar(content)) {
    total += header.size
    if (total > maxUnpackedBytes) throw new Error('it is too large')
    if (header.name !== 'package/package.json') continue
    if (header.size > maxManifestBytes) throw new Error('its package.json is too large')
    manifest = Buffer.concat(await Array.fromAsync(entry)).toString('utf8')
  }
  if (manifest === undefined) throw new Error('it has no package.json')
  return manifest
}

function broughtNode(dependencies: unknown): number | null {
  const version = (dependencies as Record<string, string> | undefined)?.[`node-${process.platform}-${process.arch}`]
  const major = Number.parseInt(version ?? '', 10)
  return Number.isNaN(major) ? null : major
}
