import { join } from 'node:path'
import type { EngineCopy } from '../../drivers/runtime/docker/engine-copy.ts'
import { readTar, type TarEntry } from '../../drivers/tar/read-tar.ts'
import { rewriteEntries } from '../../drivers/tar/rewrite-tar.ts'
import { encodeHeader, paddingAfter, type TarHeader, tarEnd } from '../../drivers/tar/tar-header.ts'
import { listEngineData } from '../../modules/deployments/index.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { Config } from '../config/config.ts'

/** Prefix of entries for the Docker engine; those of the data folder begin with `./`, or are the database. */
export const engineTop = 'engine'
const listName = `${engineTop}/volumes.json`
const imagesTop = `${engineTop}/images/`
const volumeTop = (id: string) => `${engineTop}/volumes/${id}/`
const maxListBytes = 16 * 1024 * 1024

interface SavedVolume {
  id: string
  projectId: string
  name: string
}

/** Volumes and images of the instance in an engine. */
export interface EngineContent {
  volumes: readonly SavedVolume[]
  images: readonly string[]
}

/** Opens this machine's engine. */
export async function openEngineOf({ dockerSocket, dataDir }: Pick<Config, 'dockerSocket' | 'dataDir'>): Promise<EngineCopy> {
  const { openEngineCopy } = await import('../../drivers/runtime/docker/engine-copy.ts')
  return openEngineCopy({ socketPath: dockerSocket, folder: join(dataDir, 'docker') })
}

/** Null when the engine has nothing of this instance, so no engine is needed. */
export async function contentOnEngine(db: Db): Promise<EngineContent | null> {
  const { volumes, images } = await listEngineData(db)
  if (volumes.length === 0 && images.length === 0) return null
  return { volumes: volumes.map(({ id, projectId, name }) => ({ id, projectId, name })), images }
}

/** The first entries of an archive, without an end marker: each volume, and the live images. */
export async function* engineEntries(
  { volumes, images }: EngineContent,
  engine: EngineCopy,
  abort: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const list = Buffer.from(JSON.stringify(volumes))
  yield encodeHeader({ ...plain, name: listName, type: 'file', size: list.length })
  yield list
  yield paddingAfter(list.length)
  for (const { id } of volumes) {
    yield encodeHeader({ ...plain, name: volumeTop(id), type: 'directory', size: 0 })
    yield* rewriteEntries(engine.readVolume(id, abort), (header) => below(volumeTop(id), header))
  }
  const localImages = await engine.ownImages(images)
  if (localImages.length > 0) yield* rewriteEntries(engine.saveImages(localImages, abort), (header) => below(imagesTop, header))
}

const plain = { mode: 0o755, uid: 0, gid: 0, mtime: new Date(0), linkname: '' }

/** Prefixes an entry's name. A hard link's target is prefixed too; a symlink's target stays. */
const below = (top: string, header: TarHeader): TarHeader => ({
  ...header,
  name: `${top}${header.name.replace(/^\.?\/+/, '')}`,
  linkname: header.type === 'link' ? `${top}${header.linkname.replace(/^\.?\/+/, '')}` : header.linkname,
})

export interface RestoredVolumes {
  volumes: number
  /** Names of volumes that already existed in the engine; they are not changed. */
  kept: string[]
}

/** Restores the engine's part of an archive. `openEngine` is called only if there is one. */
export async function restoreToEngine(
  archive: AsyncIterable<Uint8Array>,
  openEngine: () => Promise<EngineCopy>,
  abort: AbortSignal,
): Promise<RestoredVolumes> {
  const entries = new Entries(archive)
  try {
    if ((await entries.peek())?.header.name !== listName) return { volumes: 0, kept: [] }
    const volumes = await readList(entries)
    const engine = await openEngine()
    const restored: RestoredVolumes = { volumes: 0, kept: [] }
    for (const volume of volumes) {
      if (await engine.restoreVolume(volume, entries.below(volumeTop(volume.id)), abort)) restored.volumes += 1
      else restored.kept.push(volume.name)
      await entries.skip(volumeTop(volume.id))
    }
    if ((await entries.peek())?.header.name.startsWith(imagesTop)) await engine.loadImages(entries.below(imagesTop), abort)
    return restored
  } finally {
    await entries.end()
  }
}

async function readList(entries: Entries): Promise<SavedVolume[]> {
  const entry = await entries.take()
  if (!entry || entry.header.size > maxListBytes) throw new Error('The archive is damaged: its list of volumes is too long')
  return JSON.parse(Buffer.concat(await Array.fromAsync(entry.content)).toString()) as SavedVolume[]
}

/** Entries of a streamed archive, with a lookahead of one entry. */
class Entries {
  readonly #entries: AsyncIterator<TarEntry, void, void>
  #next: Promise<IteratorResult<TarEntry, void>> | undefined

  constructor(archive: AsyncIterable<Uint8Array>) {
    this.#entries = readTar(archive)[Symbol.asyncIterator]()
  }

  async peek(): Promise<TarEntry | undefined> {
    this.#next ??= this.#entries.next()
    return (await this.#next).value ?? undefined
  }

  async take(): Promise<TarEntry | undefined> {
    const entry = await this.peek()
    this.#next = undefined
    return entry
  }

  /** Entries with this prefix, as an archive of their own. */
  async *below(top: string): AsyncGenerator<Uint8Array> {
    while ((await this.peek())?.header.name.startsWith(top)) {
      const { header, content } = (await this.take()) as TarEntry
      const withoutPrefix = (name: string) => name.slice(top.length) || './'
      const linkname = header.type === 'link' ? withoutPrefix(header.linkname) : header.linkname
      yield encodeHeader({ ...header, name: withoutPrefix(header.name), linkname })
      yield* content
      yield paddingAfter(header.size)
    }
    yield tarEnd
  }

  async skip(top: string): Promise<void> {
    while ((await this.peek())?.header.name.startsWith(top)) await this.take()
  }

  async end(): Promise<void> {
    await this.#entries.return?.()
  }
}
