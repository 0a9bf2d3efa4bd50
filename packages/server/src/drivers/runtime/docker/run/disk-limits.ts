import { access, constants } from 'node:fs/promises'
import type { ContainerInfo } from 'dockerode'
import { bytesPerEntry } from '../../../folder/folder-size.ts'
import { measureFolders } from '../../../folder/measure-folder.ts'
import { type FreeSpace, freeSpaceAt } from '../../process/disk/free-space.ts'
import { callEngine, callEngineOrMissing, type Engine, isRemote, statusOf } from '../engine.ts'
import { type Labels, labelIn } from '../labels.ts'
import { deletedFileBytes } from './deleted-files.ts'
import type { DiskFullMarkers } from './disk-full-markers.ts'
import { volumeSizes } from './volume-sizes.ts'

const megabyte = 1024 * 1024
const tickMs = 1_000
const defaultPollMs = 60_000
/** Drop of free space since the last measurement that triggers the next one. */
const measureAfterDropBytes = 64 * megabyte
/** Highest share of the time spent on measuring. */
const maxMeasuringShare = { filling: 1 / 5, quiet: 1 / 20 }
const measureTimeoutMs = 5 * 60_000

interface Parts {
  engine: Engine
  labels: Labels
  diskFullMarkers: DiskFullMarkers
  /** Interval of the periodic measurements. */
  pollMs?: number | undefined
}

/**
 * Ends instances that exceed their disk limit: writable layer and volumes together, without adopted volumes. Measures once a
 * minute, and on the engine's own machine also when free space has dropped noticeably. A hundred containers and volumes with
 * 500 files each take 0.4 s.
 */
export class DiskLimits {
  readonly #parts: Parts
  #timer: NodeJS.Timeout | undefined
  #rootFolder: Promise<string | null> | undefined
  #isMeasuring = false
  #hasInstances = true
  #smallestMb = Number.POSITIVE_INFINITY
  /** Highest free space since the last measurement. */
  #highestFreeSpace: FreeSpace | null = null
  #nextMeasureAt = performance.now()
  /** Start and end of the last measurement. */
  #lastMeasurement = { startedAt: 0, endedAt: 0 }
  /** Whether a volume belongs to this Berth, by name. That never changes. */
  readonly #ownVolumes = new Map<string, boolean>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  watch(): void {
    this.#timer ??= setInterval(() => void this.#tick().catch(() => undefined), tickMs).unref()
  }

  instanceStarted(diskMb: number): void {
    this.#hasInstances = true
    this.#smallestMb = Math.min(this.#smallestMb, diskMb)
    this.watch()
  }

  close(): void {
    clearInterval(this.#timer)
  }

  async #tick(): Promise<void> {
    if (this.#isMeasuring || !this.#hasInstances) return
    this.#isMeasuring = true
    try {
      const freeSpace = await this.#readFreeSpace()
      const isDiskFilling = freeSpace !== null && this.#hasDroppedTo(freeSpace)
      const startedAt = performance.now()
      const isDue = isDiskFilling || startedAt >= this.#nextMeasureAt
      if (!isDue || startedAt < this.#earliestMeasureAt(isDiskFilling)) return
      this.#nextMeasureAt = startedAt + (this.#parts.pollMs ?? defaultPollMs)
      this.#highestFreeSpace = freeSpace
      await this.#measure().finally(() => {
        this.#lastMeasurement = { startedAt, endedAt: performance.now() }
      })
    } finally {
      this.#isMeasuring = false
    }
  }

  #earliestMeasureAt(isFilling: boolean): number {
    const { startedAt, endedAt } = this.#lastMeasurement
    return endedAt + (endedAt - startedAt) * (1 / (isFilling ? maxMeasuringShare.filling : maxMeasuringShare.quiet) - 1)
  }

  /** Free space of the engine's disk. Null if the engine's folder is not on this machine. */
  async #readFreeSpace(): Promise<FreeSpace | null> {
    const { engine } = this.#parts
    if (isRemote(engine)) return null
    this.#rootFolder ??= callEngine(() => engine.info()).then(
      ({ DockerRootDir }: { DockerRootDir?: string }) => DockerRootDir ?? null,
      () => {
        this.#rootFolder = undefined
        return null
      },
    )
    const folder = await this.#rootFolder
    return folder === null ? null : freeSpaceAt(folder).catch(() => null)
  }

  /** Whether free space has dropped noticeably since the last measurement. */
  #hasDroppedTo({ bytes, inodes }: FreeSpace): boolean {
    const highest = this.#highestFreeSpace ?? { bytes, inodes }
    this.#highestFreeSpace = { bytes: Math.max(highest.bytes, bytes), inodes: Math.max(highest.inodes, inodes) }
    const thresholdBytes = Math.min(measureAfterDropBytes, (this.#smallestMb * megabyte) / 4)
    return (
      this.#highestFreeSpace.bytes - bytes > thresholdBytes ||
      (this.#highestFreeSpace.inodes - inodes) * bytesPerEntry > thresholdBytes
    )
  }

  async #measure(): Promise<void> {
    const { engine, labels } = this.#parts
    // Includes restarting instances: the engine restarts a crashed one with its old layer.
    const filters = { ...labels.filter('instance'), status: ['running', 'restarting'] }
    const rows = await callEngine((abortSignal) => engine.listContainers({ size: true, filters, abortSignal }), {
      timeoutMs: measureTimeoutMs,
    })
    const limits = rows.map(({ Labels: containerLabels }) => Number(labelIn(containerLabels, 'disk')) || Number.POSITIVE_INFINITY)
    this.#hasInstances = rows.length > 0
    this.#smallestMb = Math.min(...limits)
    const volumes = await this.#volumeBytes(rows)
    for (const [at, row] of rows.entries()) {
      const volumeBytes = volumesOf(row).map(({ Name = '' }) => volumes.get(Name) ?? 0)
      const deletedBytes = isRemote(engine) ? 0 : await deletedFileBytes(row)
      const bytes = volumeBytes.reduce((sum, size) => sum + size, ((row as { SizeRw?: number }).SizeRw ?? 0) + deletedBytes)
      if (bytes > (limits[at] ?? 0) * megabyte) await this.#killForDisk(row)
    }
  }

  /** Sizes of volumes by Docker name. Leaves out adopted volumes, whose data existed before the project. */
  async #volumeBytes(rows: readonly ContainerInfo[]): Promise<ReadonlyMap<string, number>> {
    const { engine } = this.#parts
    const mounts = new Map(rows.flatMap(volumesOf).map((mount) => [mount.Name ?? '', mount.Source]))
    if (mounts.size === 0) return new Map()
    for (const name of mounts.keys())
      if (!this.#ownVolumes.has(name)) this.#ownVolumes.set(name, isAnonymousVolume(name) || (await this.#isOwnVolume(name)))
    const counted = [...mounts].filter(([name]) => this.#ownVolumes.get(name))
    const folders = counted.map(([, folder]) => folder)
    if (isRemote(engine) || !(await canRead(folders))) {
      const all = await volumeSizes(engine)
      return new Map(counted.map(([name]) => [name, all.get(name) ?? 0]))
    }
    const sizes = await measureFolders(folders)
    return new Map(counted.map(([name], at) => [name, sizes[at]?.diskBytes ?? 0]))
  }

  async #isOwnVolume(name: string): Promise<boolean> {
    const { engine, labels } = this.#parts
    const found = await callEngineOrMissing((abortSignal) => engine.getVolume(name).inspect({ abortSignal }))
    return labels.isThisBerth(found?.Labels)
  }

  async #killForDisk(row: ContainerInfo): Promise<void> {
    const { engine, diskFullMarkers } = this.#parts
    const instanceId = labelIn(row.Labels, 'id')
    diskFullMarkers.add(instanceId)
    try {
      await callEngine((abortSignal) => engine.getContainer(row.Id).kill({ signal: 'SIGKILL', abortSignal }))
    } catch (error) {
      // After a timeout, the kill may still have worked.
      if (statusOf(error) !== undefined) diskFullMarkers.delete(instanceId)
    }
  }
}

const volumesOf = ({ Mounts }: ContainerInfo) => Mounts.filter(({ Type, RW }) => Type === 'volume' && RW)

/** Whether it is an anonymous volume, which the engine creates for each VOLUME of an image. */
const isAnonymousVolume = (name: string) => /^[0-9a-f]{64}$/.test(name)

const canRead = (folders: readonly string[]): Promise<boolean> =>
  Promise.all(folders.map((folder) => access(folder, constants.R_OK | constants.X_OK))).then(
    () => true,
    () => false,
  )
