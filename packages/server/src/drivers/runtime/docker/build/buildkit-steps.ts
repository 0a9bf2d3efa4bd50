import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { measureFolders } from '../../../folder/measure-folder.ts'
import { callEngine, type Engine, isRemote } from '../engine.ts'
import { StepGroup, type StepLimits } from './step-group.ts'

/** Polling interval. A new step runs without limits for at most this long. */
const pollIntervalMs = 100
/** Number of checks after which a process is known to belong to another program. */
const earlyChecks = 50

export type Breach = 'out_of_memory' | 'too_many_processes'

/**
 * Limits the steps of a BuildKit build, which BuildKit itself cannot. Each step is a container, recognized by a marker name in
 * its `/etc/hosts`. Its control group is limited as soon as it exists. Works only as root on the engine's own machine.
 */
export class BuildKitSteps {
  readonly #hosts: string
  /** Folder of the overlay2 driver's layers, for relative layer names. */
  readonly #layersFolder: string
  readonly #beganAt = Date.now()
  /** Layers that the build has written. A layer outlives its step. */
  readonly #layers = new Set<string>()
  /** Groups whose layers have been recorded. */
  readonly #noted = new Set<string>()
  readonly #mark: string
  readonly #limits: StepLimits
  readonly #onBreach: (breach: Breach) => void
  readonly #groups = new Map<string, StepGroup>()
  readonly #old: Set<string>
  readonly #young = new Map<string, number>()
  readonly #marked = new Map<string, boolean>()
  readonly #timer: NodeJS.Timeout

  /** Null if steps can be limited here, else the reason why not. */
  static async whyNot(engine: Engine): Promise<string | null> {
    if (isRemote(engine)) return 'the engine is on another machine'
    if (process.getuid?.() !== 0) return 'Berth is not root here'
    return existsSync(await folderOf(engine)) ? null : "the engine's folder is not on this machine"
  }

  /** Starts watching. Called before the build: processes that already run are not steps of it. */
  static async watch(
    engine: Engine,
    options: { mark: string; limits: StepLimits; onBreach: (breach: Breach) => void },
  ): Promise<BuildKitSteps> {
    return new BuildKitSteps(await folderOf(engine), options)
  }

  private constructor(folder: string, { mark, limits, onBreach }: Parameters<typeof BuildKitSteps.watch>[1]) {
    this.#hosts = join(folder, 'executor')
    this.#layersFolder = realPath(join(folder, '..', 'overlay2'))
    this.#mark = mark
    this.#limits = limits
    this.#onBreach = onBreach
    this.#old = new Set(processes())
    this.#timer = setInterval(() => this.#check(), pollIntervalMs)
  }

  /** Kills steps that the engine has not ended yet. */
  end(): void {
    clearInterval(this.#timer)
    for (const group of this.#groups.values()) group.kill()
  }

  /** Whether the kernel killed a step for its memory. */
  get hasSeenKills(): boolean {
    return [...this.#groups.values()].some((group) => group.hasSeenKills)
  }

  #check(): void {
    const now = new Set(processes())
    for (const pid of this.#old) if (!now.has(pid)) this.#old.delete(pid)
    for (const pid of this.#young.keys()) if (!now.has(pid)) this.#young.delete(pid)
    for (const pid of now) if (!this.#old.has(pid)) this.#validate(pid)
    for (const group of this.#groups.values()) {
      if (!group.isThere) continue
      if (!this.#noted.has(group.key)) this.#noteLayers(group)
      if (group.isOutOfMemory(this.#limits)) this.#breach('out_of_memory', group)
      else if (group.processes >= this.#limits.processes) this.#breach('too_many_processes', group)
    }
  }

  #breach(breach: Breach, group: StepGroup): void {
    this.#onBreach(breach)
    group.kill()
  }

  /** Checks a new process. It gets its group and its files one after the other, so an unknown process is checked again later. */
  #validate(pid: string): void {
    const checks = (this.#young.get(pid) ?? 0) + 1
    this.#young.set(pid, checks)
    const group = StepGroup.of(Number(pid))
    const isKnown = group !== undefined && this.#groups.has(group.key)
    if (group && !isKnown && this.#isMarked(pid)) {
      group.limit(this.#limits)
      this.#groups.set(group.key, group)
    } else if (!isKnown && checks < earlyChecks) return
    this.#young.delete(pid)
    this.#old.add(pid)
  }

  async writtenBytes(): Promise<number> {
    const sizes = await measureFolders([...this.#layers].filter((folder) => existsSync(folder)))
    return sizes.reduce((sum, { diskBytes }) => sum + diskBytes, 0)
  }

  /**
   * Records the layers of a step, once it has its own root. Its lower layers include those of earlier steps, even of one that
   * ended between two checks. Cache mounts have their own limit and do not count.
   */
  #noteLayers({ key, pids }: StepGroup): void {
    for (const pid of pids) {
      const options = / \/ \/ .* - overlay \S+ (\S+)/.exec(read(`/proc/${pid}/mountinfo`))?.[1] ?? ''
      const layer = this.#layerAt(/\bupperdir=([^,]+)/.exec(options)?.[1] ?? '')
      if (!layer) continue
      const lower = /\blowerdir=([^,]+)/.exec(options)?.[1]?.split(':') ?? []
      const before = lower.flatMap((name) => this.#layerAt(name) ?? []).filter(({ madeAt }) => madeAt >= this.#beganAt)
      for (const { folder } of [layer, ...before]) this.#layers.add(folder)
      return void this.#noted.add(key)
    }
  }

  /** Resolves a layer. The engine mounts it by a short link to its folder. */
  #layerAt(name: string): { folder: string; madeAt: number } | null {
    try {
      const folder = realpathSync(resolve(this.#layersFolder, name))
      const isLayer = folder.startsWith(`${this.#layersFolder}/`)
      return isLayer ? { folder, madeAt: statSync(folder).birthtimeMs } : null
    } catch {
      return null
    }
  }

  #isMarked(pid: string): boolean {
    const name = /\/executor\/(hosts\.\w+) /.exec(read(`/proc/${pid}/mountinfo`))?.[1]
    if (name === undefined) return false
    const known = this.#marked.get(name) ?? read(join(this.#hosts, name)).split(/\s+/).includes(this.#mark)
    this.#marked.set(name, known)
    return known
  }
}

const folderOf = async (engine: Engine) => {
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

const processes = () => readdirSync('/proc').filter((name) => /^\d+$/.test(name))

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
