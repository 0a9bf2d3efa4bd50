import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { Container } from 'dockerode'
import type { TarHeader } from '../../../tar/tar-header.ts'
import { sanitizeArchive, withoutTopFolder } from '../../../tar/tar-names.ts'
import type { AdoptedVolume, VolumeRef } from '../../runtime.ts'
import { StartFailed, VolumeMissing } from '../../runtime-errors.ts'
import { callEngine, callEngineOrMissing, type Engine, statusOf } from '../engine.ts'
import { type Labels, labelIn } from '../labels.ts'
import {
  firstEntries,
  folderArchive,
  hasDefaultOwner,
  isPath,
  makeHelper,
  mountPoint,
  putArchive,
  removeHelper,
  topFolderEntry,
} from './volume-helper.ts'
import { volumeSizes } from './volume-sizes.ts'

/**
 * Volumes by their stored ids. An engine cannot rename a volume. To replace its content, a new volume is filled, and a file on
 * disk that names the current volume of the id is replaced atomically.
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

  /** Creates the volume unless it exists. Returns its Docker name. */
  async create({ id, projectId, name, adopted }: VolumeRef): Promise<string> {
    if (adopted && this.nameOf(id) === id) await this.#adopt(id, adopted)
    const current = this.nameOf(id)
    if (isPath(current) || (await this.#exists(current))) return current
    await this.#createVolume(current, this.#labels.of('volume', { id, project: projectId, service: name }))
    return current
  }

  /** Returns the Docker name of an existing volume. Rejects with `VolumeMissing`. */
  async find({ id, name, adopted }: Omit<VolumeRef, 'projectId'>): Promise<string> {
    if (adopted && this.nameOf(id) === id) await this.#adopt(id, adopted)
    const current = this.nameOf(id)
    if (isPath(current) || (await this.#exists(current))) return current
    // Without the pointer file, such as after the loss of the data folder, the only volume of the id is the current one. A killed
    // write can leave two volumes: which of them is the current one is then unknown.
    const [only, ...others] = await this.#namesOf(id)
    if (only === undefined || others.length > 0) throw new VolumeMissing({ id, name })
    this.#setCurrentName(id, only)
    return only
  }

  nameOf(id: string): string {
    try {
      return readFileSync(this.#pointerFile(id), 'utf8').trim() || id
    } catch {
      return id
    }
  }

  async sizeBytes(id: string): Promise<number | null> {
    const name = this.nameOf(id)
    if (isPath(name) || !(await this.#exists(name))) return null
    return (await this.#sizes()).get(name) ?? null
  }

  /**
   * Finds existing data of the id under any name, and makes it the current volume. Without data, the next `create` makes a new
   * volume.
   */
  async adoptExisting(id: string): Promise<boolean> {
    const current = this.nameOf(id)
    if (isPath(current) && existsSync(current)) return true
    const sizes = await this.#sizes()
    const nameWithData = [current, ...(await this.#namesOf(id))].find((name) => (sizes.get(name) ?? 0) !== 0)
    if (nameWithData === undefined) rmSync(this.#pointerFile(id), { force: true })
    else if (nameWithData !== current) this.#setCurrentName(id, nameWithData)
    return nameWithData !== undefined
  }

  #sizes = () => volumeSizes(this.#engine)

  /** Removes every volume that ever belonged to the id. Never touches volumes of others. */
  async remove(id: string): Promise<void> {
    for (const name of await this.#namesOf(id)) await this.#remove(name)
    rmSync(this.#pointerFile(id), { force: true })
  }

  async *read(id: string, abort: AbortSignal): AsyncGenerator<Uint8Array> {
    const helper = await this.#helperOf(this.nameOf(id), abort)
    try {
      const [top] = await firstEntries(helper, mountPoint, 1, abort)
      const path = top?.type === 'file' ? mountPoint : `${mountPoint}/.`
      if (top && top.type !== 'file' && !hasDefaultOwner(top)) yield topFolderEntry(top)
      const archive = (await helper.getArchive({ path, abortSignal: abort })) as unknown as AsyncIterable<Uint8Array>
      yield* top?.type === 'file' ? archive : withoutTopFolder(archive)
    } finally {
      await removeHelper(helper)
    }
  }

  async write(id: string, tar: AsyncIterable<Uint8Array>, abort: AbortSignal): Promise<void> {
    const oldName = this.nameOf(id)
    const labels = await this.#labelsOf(oldName, abort)
    const [owner, first] = await this.#firstHeaders(oldName, abort)
    if (owner?.type === 'file') throw new Error(`${oldName} is a file on the server and is read-only`)
    const newName = `${id}.${randomBytes(4).toString('hex')}`
    const project = labelIn(labels, 'project')
    await this.#createVolume(newName, this.#labels.of('volume', { id, project, service: labelIn(labels, 'service') }))
    try {
      const top = await this.#fill(newName, tar, owner, abort)
      // An empty volume has no owner yet, so the archive's applies.
      if (top && !first) await this.#setOwner(newName, top, abort)
    } catch (error) {
      await this.#remove(newName)
      throw error
    }
    this.#setCurrentName(id, newName)
    // Also removes volumes of writes that were killed.
    for (const name of await this.#namesOf(id)) if (name !== newName) await this.#remove(name)
  }

  /** Gives an empty volume to the user that will write to it. */
  async changeOwner(container: Container, path: string, user: number, abort: AbortSignal): Promise<void> {
    const entries = await firstEntries(container, `${path}/.`, 2, abort)
    const [top] = entries
    if (entries.length !== 1 || (top?.uid ?? 0) === user) return
    await putArchive(container, '/', folderArchive(path, { uid: user, gid: user, mode: 0o755 }), abort)
  }

  /**
   * Gives a volume to the user that will write to it, if it contains nothing but the mount points of other volumes. It is read
   * without those volumes. `mountPoints` are paths inside the volume.
   */
  async changeOwnerOfOuter(name: string, mountPoints: readonly string[], user: number, abort: AbortSignal): Promise<void> {
    const parents = new Set(mountPoints.flatMap((path) => path.split('/').map((_, end, all) => all.slice(0, end + 1).join('/'))))
    const helper = await this.#helperOf(name, abort)
    try {
      const [top, ...entries] = await firstEntries(helper, `${mountPoint}/.`, 2 + parents.size, abort)
      const isEmpty = entries.every((entry) => parents.has(entry.name.replace(/^\.\/|\/$/g, '')))
      if (!isEmpty || (top?.uid ?? 0) === user) return
      await putArchive(helper, '/', folderArchive(mountPoint, { uid: user, gid: user, mode: 0o755 }), abort)
    } finally {
      await removeHelper(helper)
    }
  }

  /** Unpacks the archive. Returns its header of the volume's own folder, if any. */
  async #fill(
    name: string,
    tar: AsyncIterable<Uint8Array>,
    owner: TarHeader | undefined,
    abort: AbortSignal,
  ): Promise<TarHeader | undefined> {
    const helper = await this.#helperOf(name, abort)
    let top: TarHeader | undefined
    try {
      if (owner) await putArchive(helper, '/', folderArchive(mountPoint, owner), abort)
      const sanitized = sanitizeArchive(tar, (header) => {
        top = header
      })
      await putArchive(helper, mountPoint, Readable.from(sanitized), abort)
      return top
    } finally {
      await removeHelper(helper)
    }
  }

  async #setOwner(name: string, top: TarHeader, abort: AbortSignal): Promise<void> {
    const helper = await this.#helperOf(name, abort)
    try {
      await putArchive(helper, '/', folderArchive(mountPoint, top), abort)
    } finally {
      await removeHelper(helper)
    }
  }

  async #labelsOf(name: string, abort: AbortSignal): Promise<Record<string, string>> {
    if (isPath(name)) return {}
    return (await callEngine((abortSignal) => this.#engine.getVolume(name).inspect({ abortSignal }), { abort })).Labels ?? {}
  }

  /** Headers of the volume's own folder and of the first entry in it. */
  async #firstHeaders(name: string, abort: AbortSignal): Promise<TarHeader[]> {
    const helper = await this.#helperOf(name, abort)
    try {
      return await firstEntries(helper, mountPoint, 2, abort)
    } finally {
      await removeHelper(helper)
    }
  }

  #helperOf = (volume: string, abort: AbortSignal) => makeHelper(volume, { engine: this.#engine, labels: this.#labels }, abort)

  #pointerFile = (id: string) => join(this.#folder, validName(id))

  #setCurrentName(id: string, name: string): void {
    const draft = `${this.#pointerFile(id)}.draft`
    writeFileSync(draft, name, { flush: true })
    renameSync(draft, this.#pointerFile(id))
  }

  /** Makes the id refer to an existing volume or path. Berth never removes it, because it lacks Berth's labels. */
  async #adopt(id: string, adopted: AdoptedVolume): Promise<void> {
    if ('volume' in adopted && !(await this.#exists(adopted.volume)))
      throw new StartFailed(`The adopted volume ${adopted.volume} no longer exists`)
    this.#setCurrentName(id, 'volume' in adopted ? adopted.volume : adopted.path)
  }

  #createVolume = (name: string, labels: Record<string, string>) =>
    callEngine((abortSignal) => this.#engine.createVolume({ Name: validName(name), Labels: labels, abortSignal }))

  async #exists(name: string): Promise<boolean> {
    return (
      (await callEngineOrMissing((abortSignal) => this.#engine.getVolume(validName(name)).inspect({ abortSignal }))) !== undefined
    )
  }

  async #namesOf(id: string): Promise<string[]> {
    const filters = JSON.stringify(this.#labels.filter('volume', { id }))
    const { Volumes: rows } = await callEngine((abortSignal) => this.#engine.listVolumes({ filters, abortSignal } as object))
    return (rows ?? []).map(({ Name }) => Name)
  }

  async #remove(name: string): Promise<void> {
    try {
      await callEngine((abortSignal) => this.#engine.getVolume(name).remove({ abortSignal }))
    } catch (error) {
      // Still used by an instance that is about to end. A later call removes it.
      if (statusOf(error) !== 404 && statusOf(error) !== 409) throw error
    }
  }
}

function validName(name: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(name))
    throw new Error(`${JSON.stringify(name.slice(0, 60))} is not a valid volume name`)
  return name
}
