import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { Container } from 'dockerode'
import { extract, type Header, pack } from 'tar-stream'
import { type AdoptedVolume, StartFailed, type VolumeRef } from '../../runtime.ts'
import { harmless, withoutTop } from '../build/tar-names.ts'
import { ask, askFor, type Engine, statusOf } from '../engine.ts'
import { type Labels, labelIn } from '../labels.ts'

const emptyImage = 'berth/empty:1'
const mountPoint = '/volume'
const longMs = 6 * 60 * 60_000

/**
 * Volumes by their stored ids. An engine cannot rename a volume, so replacing its content is a new one beside the old, and a
 * note on disk, changed in one step, that says which of them the id means now.
 */
export class Volumes {
  readonly #engine: Engine
  readonly #labels: Labels
  readonly #folder: string

  constructor(engine: Engine, labels: Labels, folder: string) {
    this.#engine = engine
    this.#labels = labels
    this.#folder = join(folder, 'volumes')
    mkdirSync(this.#folder, { recursive: true })
  }

  /** Returns the engine's name of it. */
  async create({ id, projectId, name, adopted }: VolumeRef): Promise<string> {
    if (adopted && this.nameOf(id) === id) await this.#adopt(id, adopted)
    const current = this.nameOf(id)
    if (isPath(current) || (await this.#exists(current))) return current
    await this.#make(current, this.#labels.of('volume', { id, project: projectId, service: name }))
    return current
  }

  nameOf(id: string): string {
    try {
      return readFileSync(this.#note(id), 'utf8').trim() || id
    } catch {
      return id
    }
  }

  async sizeBytes(id: string): Promise<number | null> {
    const name = this.nameOf(id)
    if (isPath(name) || !(await this.#exists(name))) return null
    const usage = await ask(() => this.#engine.df(), { timeoutMs: longMs })
    const volumes = (usage as { Volumes?: { Name: string; UsageData?: { Size: number } }[] }).Volumes ?? []
    return volumes.find(({ Name }) => Name === name)?.UsageData?.Size ?? null
  }

  /** Every one that ever stood for the id; nothing of another Berth, nothing foreign. */
  async remove(id: string): Promise<void> {
    for (const name of await this.#namesOf(id)) await this.#remove(name)
    rmSync(this.#note(id), { force: true })
  }

  async *read(id: string, abort: AbortSignal): AsyncGenerator<Uint8Array> {
    const helper = await this.#helper(this.nameOf(id), abort)
    try {
      const [top] = await firstEntries(helper, mountPoint, 1, abort)
      const path = top?.type === 'file' ? mountPoint : `${mountPoint}/.`
      const archive = (await helper.getArchive({ path, abortSignal: abort })) as unknown as AsyncIterable<Uint8Array>
      yield* top?.type === 'file' ? archive : withoutTop(archive)
    } finally {
      await removeHelper(helper)
    }
  }

  async write(id: string, tar: AsyncIterable<Uint8Array>, abort: AbortSignal): Promise<void> {
    const old = this.nameOf(id)
    const labels = await this.#labelsOf(old, abort)
    const owner = await this.#ownerOf(old, abort)
    if (owner?.type === 'file') throw new Error(`${old} is a file of the server, which is read and never replaced`)
    const fresh = `${id}.${randomBytes(4).toString('hex')}`
    const project = labelIn(labels, 'project')
    await this.#make(fresh, this.#labels.of('volume', { id, project, service: labelIn(labels, 'service') }))
    try {
      await this.#fill(fresh, tar, owner, abort)
    } catch (error) {
      await this.#remove(fresh)
      throw error
    }
    this.#pointTo(id, fresh)
    // Also what a writing that was killed has left.
    for (const name of await this.#namesOf(id)) if (name !== fresh) await this.#remove(name)
  }

  /** A volume that nobody has written to yet is handed to the user who will. */
  async giveTo(container: Container, path: string, user: number, abort: AbortSignal): Promise<void> {
    const entries = await firstEntries(container, `${path}/.`, 2, abort)
    const [top] = entries
    if (entries.length !== 1 || (top?.uid ?? 0) === user) return
    await put(container, '/', folderEntry(path, { uid: user, gid: user, mode: 0o755 }), abort)
  }

  async #fill(name: string, tar: AsyncIterable<Uint8Array>, owner: Header | undefined, abort: AbortSignal): Promise<void> {
    const helper = await this.#helper(name, abort)
    try {
      if (owner) await put(helper, '/', folderEntry(mountPoint, owner), abort)
      await put(helper, mountPoint, Readable.from(harmless(tar)), abort)
    } finally {
      await removeHelper(helper)
    }
  }

  async #labelsOf(name: string, abort: AbortSignal): Promise<Record<string, string>> {
    if (isPath(name)) return {}
    return (await ask((abortSignal) => this.#engine.getVolume(name).inspect({ abortSignal }), { abort })).Labels ?? {}
  }

  async #ownerOf(name: string, abort: AbortSignal): Promise<Header | undefined> {
    const helper = await this.#helper(name, abort)
    try {
      return (await firstEntries(helper, mountPoint, 1, abort))[0]
    } finally {
      await removeHelper(helper)
    }
  }

  /** A container that is never started: the engine reads and writes what is mounted in it all the same. */
  async #helper(volume: string, abort: AbortSignal): Promise<Container> {
    await this.#ensureEmptyImage(abort)
    return ask(
      (abortSignal) =>
        this.#engine.createContainer({
          Image: emptyImage,
          Cmd: ['never'],
          Labels: this.#labels.of('helper'),
          HostConfig: { Mounts: [{ ...mountOf(volume), Target: mountPoint }], NetworkMode: 'none' },
          abortSignal,
        }),
      { abort },
    )
  }

  async #ensureEmptyImage(abort: AbortSignal): Promise<void> {
    if (await askFor(() => this.#engine.getImage(emptyImage).inspect(), { abort })) return
    const nothing = pack()
    nothing.finalize()
    const [repo, tag] = emptyImage.split(':')
    const stream = await this.#engine.importImage(nothing as unknown as NodeJS.ReadableStream, {
      repo,
      tag,
      changes: 'LABEL berth.kind=helper',
      abortSignal: abort,
    })
    for await (const _line of stream) void _line
  }

  #note = (id: string) => join(this.#folder, checked(id))

  #pointTo(id: string, name: string): void {
    const draft = `${this.#note(id)}.draft`
    writeFileSync(draft, name, { flush: true })
    renameSync(draft, this.#note(id))
  }

  /** The id means that volume or path from now on. Without our labels it is never removed by us. */
  async #adopt(id: string, adopted: AdoptedVolume): Promise<void> {
    if ('volume' in adopted && !(await this.#exists(adopted.volume)))
      throw new StartFailed(`The volume ${adopted.volume} that was adopted is not there any more`)
    this.#pointTo(id, 'volume' in adopted ? adopted.volume : adopted.path)
  }

  #make = (name: string, labels: Record<string, string>) =>
    ask((abortSignal) => this.#engine.createVolume({ Name: checked(name), Labels: labels, abortSignal }))

  async #exists(name: string): Promise<boolean> {
    return (await askFor((abortSignal) => this.#engine.getVolume(checked(name)).inspect({ abortSignal }))) !== undefined
  }

  async #namesOf(id: string): Promise<string[]> {
    const filters = JSON.stringify(this.#labels.filter('volume', { id }))
    const { Volumes: rows } = await ask((abortSignal) => this.#engine.listVolumes({ filters, abortSignal } as object))
    return (rows ?? []).map(({ Name }) => Name)
  }

  async #remove(name: string): Promise<void> {
    try {
      await ask((abortSignal) => this.#engine.getVolume(name).remove({ abortSignal }))
    } catch (error) {
      // In use by an instance that has yet to go: it is removed by the next one who looks.
      if (statusOf(error) !== 404 && statusOf(error) !== 409) throw error
    }
  }
}

/** What was adopted may be a file or folder of the engine's machine: the engine refuses one that is not there. */
export const mountOf = (name: string) => ({ Type: isPath(name) ? ('bind' as const) : ('volume' as const), Source: name })
const isPath = (name: string) => name.startsWith('/')

const removeHelper = (helper: Container) =>
  ask((abortSignal) => helper.remove({ force: true, abortSignal })).catch(() => undefined)

/** The engine hands a mounted folder over when it is named from above, not as `./` from inside. */
function folderEntry(path: string, { uid, gid, mode = 0o755 }: Partial<Header>): Readable {
  const archive = pack()
  const name = `${path.replace(/^\/+|\/+$/g, '')}/`
  archive.entry({ name, type: 'directory', uid: uid ?? 0, gid: gid ?? 0, mode: mode & 0o7777 })
  archive.finalize()
  return Readable.from(archive)
}

async function put(container: Container, path: string, tar: Readable, abort: AbortSignal): Promise<void> {
  await ask((abortSignal) => container.putArchive(tar, { path, abortSignal }), { abort, timeoutMs: longMs })
}

/** Reads no further than it must: the first entry is the folder itself. */
async function firstEntries(container: Container, path: string, count: number, abort: AbortSignal): Promise<Header[]> {
  const end = new AbortController()
  const stream = await container.getArchive({ path, abortSignal: AbortSignal.any([abort, end.signal]) })
  const reader = extract()
  stream.on('error', (error) => reader.destroy(error))
  stream.pipe(reader)
  const headers: Header[] = []
  try {
    for await (const entry of reader) {
      headers.push(entry.header)
      entry.resume()
      if (headers.length >= count) break
    }
  } catch (error) {
    abort.throwIfAborted()
    if (headers.length < count) throw error
  } finally {
    end.abort()
  }
  return headers
}

function checked(name: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(name)) throw new Error(`${JSON.stringify(name.slice(0, 60))} is not a volume`)
  return name
}
