import { createReadStream } from 'node:fs'
import { mkdir, readdir, readFile, stat, statfs, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import zlib from 'node:zlib'
import { localStore } from '../archive-store/local-store.ts'
import { DirectoryHandle } from '../folder/directory-handle.ts'
import { type Unpacked, unpackTar } from '../folder/unpack-tar.ts'
import { openAgeStream } from './age-stream.ts'
import type { ArchiveIndex, Archives } from './archive.ts'
import { createArchives } from './create-archives.ts'
import { identitiesIn } from './instance-key.ts'

export interface FileRestore {
  /** A manifest, the first part of an archive, or any tar that was encrypted with `age`: zstd, gzip or uncompressed. */
  file: string
  keyFile: string
  /** Target folder: created, or existing and empty. */
  to: string
  /** Called with the stored bytes read so far, and the total. */
  onProgress?: (bytes: number, total: number) => void
  abort: AbortSignal
}

export interface RestoredFile extends Unpacked {
  /** Names in the folder after the restore. */
  createdNames: string[]
}

/** Keeps a part of the disk free, regardless of the archive's size. */
const maxDiskShare = 0.95
const maxEntries = 50_000_000
const maxManifestLength = 256 * 1024 * 1024

/** Restores a backup with its key file alone, without an instance or a database. */
export async function restoreFile({ file, keyFile, to, onProgress, abort }: FileRestore): Promise<RestoredFile> {
  const identities = identitiesIn(await readFile(keyFile, 'utf8'), keyFile)
  await mkdir(to, { recursive: true })
  if ((await readdir(to)).length > 0) throw new Error(`${to} is not empty. Choose a new folder.`)
  const { bavail, bsize } = await statfs(to)
  const bounds = { maxBytes: Math.floor(bavail * bsize * maxDiskShare), maxEntries, owner: null, abort }
  // The manifest of a repeated run has a suffix.
  if (!/^manifest(-[a-z0-9]+)?\.json\.(zst|gz)\.age$/.test(basename(file))) {
    const keys = identities.map((identity) => identity.reveal())
    const unpacked = await unpackInto(to, readParts(await partsFrom(file), keys, onProgress), bounds)
    return { ...unpacked, createdNames: await readdir(to) }
  }
  const archives = await createArchives({ identities })
  try {
    return await restoreManifest({ file, to, onProgress, bounds }, archives)
  } finally {
    await archives.close()
  }
}

type Bounds = Parameters<typeof unpackTar>[2]

async function unpackInto(folder: string, tar: AsyncIterable<Uint8Array>, bounds: Bounds): Promise<Unpacked> {
  await mkdir(folder, { recursive: true })
  await using root = await DirectoryHandle.open(resolve(folder))
  if (!root) throw new Error(`${folder} is not a folder`)
  return await unpackTar(tar, root, bounds)
}

interface SavedArtifact {
  name: string
  index: ArchiveIndex
}

/**
 * Restores from a manifest. Parts of earlier runs are found relative to it: the manifest is in
 * `<destination>/<project>/<run>/`.
 */
async function restoreManifest(
  { file, to, onProgress, bounds }: Pick<FileRestore, 'file' | 'to' | 'onProgress'> & { bounds: Bounds },
  archives: Archives,
): Promise<RestoredFile> {
  const destination = dirname(dirname(dirname(resolve(file))))
  const store = localStore({ kind: 'local', root: destination, path: destination })
  const manifest = JSON.parse(String(Buffer.from(await archives.unseal(await readFile(file), maxManifestLength))))
  const artifacts = (manifest.artifacts ?? []) as SavedArtifact[]
  const total = artifacts.reduce((sum, { index }) => sum + index.sizeBytes, 0)
  const made: RestoredFile = { files: 0, bytes: 0, leftOut: 0, createdNames: [] }
  let finishedBytes = 0
  for (const { name, index } of artifacts) {
    const progress = (bytes: number) => onProgress?.(finishedBytes + bytes, total)
    const content = archives.read(index, { store, abort: bounds.abort, onProgress: progress })
    const extension = /\.\d{4,}\.([a-z0-9]+)\.(zst|gz)\.age$/.exec(index.parts[0]?.name ?? '')?.[1] ?? 'bin'
    const safe = name.replace(/[^\w.-]+/g, '-').replace(/^\.+/, '') || 'artifact'
    const target = extension === 'tar' ? safe : `${safe}.${extension}`
    if (extension === 'tar') add(made, await unpackInto(join(to, target), content, bounds))
    else await writeFile(join(to, target), Readable.from(content), { flag: 'wx', mode: 0o600, signal: bounds.abort })
    made.createdNames.push(target)
    finishedBytes += index.sizeBytes
  }
  await writeFile(join(to, 'manifest.json'), JSON.stringify(manifest, null, 2), { flag: 'wx', mode: 0o600 })
  return { ...made, createdNames: [...made.createdNames, 'manifest.json'] }
}

function add(sum: Unpacked, one: Unpacked): void {
  sum.files += one.files
  sum.bytes += one.bytes
  sum.leftOut += one.leftOut
}

/** Lists `data.0000.tar.zst.age` and the parts that follow it. Throws if a part is missing: an earlier run stored it. */
async function partsFrom(file: string): Promise<string[]> {
  const name = /^(.+\.)(\d{4,})(\.[a-z0-9]+(?:\.(?:zst|gz))?\.age)$/.exec(basename(file))
  if (!name) return [file]
  const [, start, first, end] = name as unknown as [string, string, string, string]
  const numbers = (await readdir(dirname(file)))
    .filter((one) => one.startsWith(start) && one.endsWith(end))
    .map((one) => Number(one.slice(start.length, -end.length)))
    .filter((number) => number >= Number(first))
    .sort((one, other) => one - other)
  const gap = numbers.findIndex((number, at) => number !== Number(first) + at)
  if (Number(first) !== 0 || gap !== -1)
    throw new Error('Some parts of this archive belong to earlier runs. Use the manifest.json.zst.age of the run instead.')
  return numbers.map((number) => join(dirname(file), `${start}${String(number).padStart(4, '0')}${end}`))
}

async function* readParts(files: string[], keys: string[], onProgress: FileRestore['onProgress']): AsyncGenerator<Uint8Array> {
  const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size))
  const total = sizes.reduce((sum, size) => sum + size, 0)
  let bytes = 0
  const readCounted = async function* (file: string) {
    for await (const chunk of createReadStream(file, { highWaterMark: 256 * 1024 })) {
      bytes += (chunk as Buffer).length
      onProgress?.(bytes, total)
      yield chunk as Buffer
    }
  }
  for (const file of files) yield* decompressed(openAgeStream(readCounted(file), keys))
}

/** Detects the compression by the first bytes: the file's name is not reliable. */
async function* decompressed(content: AsyncGenerator<Buffer>): AsyncGenerator<Uint8Array> {
  const { value: first, done } = await content.next()
  if (done) return
  const all = async function* () {
    yield first
    yield* content
  }
  const magic = first.subarray(0, 4).toString('hex')
  const stream = magic === '28b52ffd' ? zlib.createZstdDecompress() : magic.startsWith('1f8b') ? zlib.createGunzip() : undefined
  if (!stream) return yield* all()
  const source = Readable.from(all())
  source.on('error', (error) => stream.destroy(error))
  try {
    yield* source.pipe(stream) as AsyncIterable<Uint8Array>
  } finally {
    source.destroy()
    stream.destroy()
  }
}
