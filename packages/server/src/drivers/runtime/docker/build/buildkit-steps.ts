import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { measureFolders } from '../../../folder/measure-folder.ts'
import { callEngine, type Engine, isRemote } from '../engine.ts'
import { StepGroup, type StepLimits } from './step-group.ts'

/** Polling interval. A new step runs without limits for at most this long. */
const pollIntervalMs = 100
/** Number of checks after which a process is known to belong to another program. */
const maxChecks = 50

export type ExceededLimit = 'out_of_memory' | 'too_many_processes'

/**
 * Limits the steps of a BuildKit build, which BuildKit itself cannot. Each step is a container, recognized by a marker name in
 * its `/etc/hosts`. Its control group is limited as soon as it exists. Works only as root on the engine's own machine.
 */
export class BuildKitSteps {
  readonly #hostsFolder: string
  /** Folder of the overlay2 driver's layers, for relative layer names. */
  readonly #layersFolder: string
  readonly #startedAt = Date.now()
  /** Layers that the build has written. A layer outlives its step. */
  readonly #layers = new Set<string>()
  /** Groups whose layers have been recorded. */
  readonly #recordedGroups = new Set<string>()
  readonly #marker: string
  readonly #limits: StepLimits
  readonly #onLimitExceeded: (limit: ExceededLimit) => void
  readonly #groups = new Map<string, StepGroup>()
  readonly #checkedPids: Set<string>
  readonly #checksOfNewPids = new Map<string, number>()
  readonly #hasMarkerByHostsFile = new Map<string, boolean>()
  readonly #timer: NodeJS.Timeout

  /** Null if steps can be limited here, else the reason why not. */
  static async unsupportedReason(engine: Engine): Promise<string | null> {
    if (isRemote(engine)) return 'the engine is on another machine'
    if (process.getuid?.() !== 0) return 'Berth is not root here'
    return existsSync(await buildKitFolder(engine)) ? null : "the engine's folder is not on this machine"
  }

  /** Starts watching. Called before the build: processes that already run are not steps of it. */
  static async watch(
    engine: Engine,
    options: { marker: string; limits: StepLimits; onLimitExceeded: (limit: ExceededLimit) => void },
  ): Promise<BuildKitSteps> {
    return new BuildKitSteps(await buildKitFolder(engine), options)
  }

  private constructor(folder: string, { marker, limits, onLimitExceeded }: Parameters<typeof BuildKitSteps.watch>[1]) {
    this.#hostsFolder = join(folder, 'executor')
    this.#layersFolder = realPath(join(folder, '..', 'overlay2'))
    this.#marker = marker
    this.#limits = limits
    this.#onLimitExceeded = onLimitExceeded
    this.#checkedPids = new Set(listPids())
    this.#timer = setInterval(() => this.#checkAll(), pollIntervalMs)
  }

  /** Kills steps that the engine has not ended yet. */
  end(): void {
    clearInterval(this.#timer)
    for (const group of this.#groups.values()) group.kill()
  }

  /** Whether the kernel killed a step for its memory. */
  get hasOomKills(): boolean {
    return [...this.#groups.values()].some((group) => group.hasOomKills)
  }

  #checkAll(): void {
    const currentPids = new Set(listPids())
    for (const pid of this.#checkedPids) if (!currentPids.has(pid)) this.#checkedPids.delete(pid)
    for (const pid of this.#checksOfNewPids.keys()) if (!currentPids.has(pid)) this.#checksOfNewPids.delete(pid)
    for (const pid of currentPids) if (!this.#checkedPids.has(pid)) this.#checkProcess(pid)
    for (const group of this.#groups.values()) {
      if (!group.exists) continue
      if (!this.#recordedGroups.has(group.key)) this.#recordLayers(group)
      if (group.isOutOfMemory(this.#limits)) this.#stopForLimit('out_of_memory', group)
      else if (group.processes >= this.#limits.processes) this.#stopForLimit('too_many_processes', group)
    }
  }

  #stopForLimit(limit: ExceededLimit, group: StepGroup): void {
    this.#onLimitExceeded(limit)
    group.kill()
  }

  /** Checks a new process. It gets its group and its files one after the other, so an unknown process is checked again later. */
  #checkProcess(pid: string): void {
    const checks = (this.#checksOfNewPids.get(pid) ?? 0) + 1
    this.#checksOfNewPids.set(pid, checks)
    const group = StepGroup.ofProcess(Number(pid))
    const isKnown = group !== undefined && this.#groups.has(group.key)
    if (group && !isKnown && this.#isMarked(pid)) {
      group.limit(this.#limits)
      this.#groups.set(group.key, group)
    } else if (!isKnown && checks < maxChecks) return
    this.#checksOfNewPids.delete(pid)
    this.#checkedPids.add(pid)
  }

  async writtenBytes(): Promise<number> {
    const sizes = await measureFolders([...this.#layers].filter((folder) => existsSync(folder)))
    return sizes.reduce((sum, { diskBytes }) => sum + diskBytes, 0)
  }

  /**
   * Records the layers of a step, once it has its own root. Its lower layers include those of earlier steps, even of one that
   * ended between two checks. Cache mounts have their own limit and do not count.
   */
  #recordLayers({ key, pids }: StepGroup): void {
    for (const pid of pids) {
      const options = / \/ \/ .* - overlay \S+ (\S+)/.exec(read(`/proc/${pid}/mountinfo`))?.[1] ?? ''
      const layer = this.#layerAt(/\bupperdir=([^,]+)/.exec(options)?.[1] ?? '')
      if (!layer) continue
      const lower = /\blowerdir=([^,]+)/.exec(options)?.[1]?.split(':') ?? []
      const earlierLayers = lower
        .flatMap((name) => this.#layerAt(name) ?? [])
        .filter(({ createdAt }) => createdAt >= this.#startedAt)
      for (const { folder } of [layer, ...earlierLayers]) this.#layers.add(folder)
      this.#recordedGroups.add(key)
      return
    }
  }

  /** Resolves a layer. The engine mounts it by a short link to its folder. */
  #layerAt(name: string): { folder: string; createdAt: number } | null {
    try {
      const folder = realpathSync(resolve(this.#layersFolder, name))
      const isLayer = folder.startsWith(`${this.#layersFolder}/`)
      return isLayer ? { folder, createdAt: statSync(folder).birthtimeMs } : null
    } catch {
      return null
    }
  }

  #isMarked(pid: string): boolean {
    const name = /\/executor\/(hosts\.\w+) /.exec(read(`/proc/${pid}/mountinfo`))?.[1]
    if (name === undefined) return false
    const hasMarker =
      this.#hasMarkerByHostsFile.get(name) ?? read(join(this.#hostsFolder, name)).split(/\s+/).includes(this.#marker)
    this.#hasMarkerByHostsFile.set(name, hasMarker)
    return hasMarker
  }
}

const buildKitFolder = async (engine: Engine) => {
  const { DockerRootDir } = (await callEngine(() => engine.info())) as { DockerRootDir?: string }
  return join(DockerRootDir ?? '/nowhere', 'buildkit')
}

/** Resolves the folder, which an engine with another storage driver does not have. */
function realPath(folder: string): string {
  try {
    return realpathSync(folder)
  } catch {
    return folder
  }
}

const listPids = () => readdirSync('/proc').filter((name) => /^\d+$/.test(name))

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
