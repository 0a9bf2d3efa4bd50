import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const root = '/sys/fs/cgroup'
const period = 100_000
const controllers = ['memory', 'cpu', 'cpuset', 'pids'] as const
type Controller = (typeof controllers)[number]

export interface StepLimits {
  cpuCores: number
  memoryMb: number
  processes: number
  /** The only cores it may run on; null: any. */
  cores: string | null
}

/** The control group of somebody else's making that a step of a build runs in: held to limits from outside, while it lasts. */
export class StepGroup {
  /** The same for all processes of a step. */
  readonly key: string
  readonly #folders: ReadonlyMap<Controller, string>
  readonly #isUnified: boolean
  #killsBefore = 0

  /** Of a process; undefined where it has none that could be limited, or has ended. */
  static of(pid: number): StepGroup | undefined {
    const text = read(`/proc/${pid}/cgroup`)
    return text === null ? undefined : StepGroup.in(text)
  }

  /** As the kernel writes it: `0::/path` of the one hierarchy, or `4:cpu,cpuacct:/path` for each of the separate ones. */
  static in(text: string): StepGroup | undefined {
    const lines = text.split('\n').map((line) => /^\d+:([^:]*):(.+)$/.exec(line))
    const folders = new Map<Controller, string>()
    for (const [, names = '', path = ''] of lines.filter((line) => line !== null))
      for (const controller of controllers) {
        if (names !== '' && !names.split(',').includes(controller)) continue
        const folder = [names, controller].map((name) => join(root, name, path)).find((one) => existsSync(one))
        if (folder && path !== '/' && !folders.has(controller)) folders.set(controller, folder)
      }
    const memory = folders.get('memory')
    return memory && folders.has('pids') ? new StepGroup(memory, folders) : undefined
  }

  private constructor(key: string, folders: ReadonlyMap<Controller, string>) {
    this.key = key
    this.#folders = folders
    this.#isUnified = existsSync(join(root, 'cgroup.controllers'))
  }

  /** What may grow fastest comes first. A step that has more memory already than it may is out of memory. */
  limit({ cpuCores, memoryMb, processes, cores }: StepLimits): void {
    const bytes = memoryMb * 1024 * 1024
    const quota = Math.round(cpuCores * period)
    this.#write('pids', 'pids.max', processes)
    if (this.#isUnified) {
      this.#killsBefore = this.#killsAround()
      this.#write('memory', 'memory.max', bytes)
      this.#write('memory', 'memory.swap.max', 0)
      this.#write('cpu', 'cpu.max', `${quota} ${period}`)
      this.#write('cpu', 'cpu.weight', 10)
    } else {
      // It waits instead of being killed, so that whoever looks sees why.
      this.#write('memory', 'memory.oom_control', 1)
      this.#write('memory', 'memory.limit_in_bytes', bytes)
      this.#write('memory', 'memory.memsw.limit_in_bytes', bytes)
      this.#write('cpu', 'cpu.cfs_period_us', period)
      this.#write('cpu', 'cpu.cfs_quota_us', quota)
      this.#write('cpu', 'cpu.shares', 102)
    }
    this.#write('cpu', 'cpu.idle', 1)
    if (cores) this.#write('cpuset', 'cpuset.cpus', cores)
  }

  get isThere(): boolean {
    return existsSync(this.key)
  }

  get processes(): number {
    return Number(read(join(this.#folders.get('pids') ?? '', 'pids.current')) ?? 0)
  }

  isOutOfMemory({ memoryMb }: Pick<StepLimits, 'memoryMb'>): boolean {
    if (this.#isUnified) return count(read(join(this.key, 'memory.events')), 'oom_kill') > 0
    const told = read(join(this.key, 'memory.oom_control'))
    const used = Number(read(join(this.key, 'memory.usage_in_bytes')) ?? 0)
    return count(told, 'under_oom') > 0 || count(told, 'oom_kill') > 0 || used > memoryMb * 1024 * 1024
  }

  /** Whether something was killed for its memory around here since it was limited: what is left to ask once the step is gone. */
  get hasSeenKills(): boolean {
    return this.#isUnified && this.#killsAround() > this.#killsBefore
  }

  /** Every process of it, at once. One that forks as fast as it is killed loses after a few rounds: its own limit holds it. */
  kill(): void {
    for (let round = 0; round < 50; round++) {
      const pids = (read(join(this.key, 'cgroup.procs')) ?? '').split('\n').filter(Boolean).map(Number)
      if (pids.length === 0) return
      for (const pid of pids)
        try {
          process.kill(pid, 'SIGKILL')
        } catch {
          // It ended by itself.
        }
    }
  }

  #killsAround = () => count(read(join(dirname(this.key), 'memory.events')), 'oom_kill')

  /** Not every kernel has every file; what has ended has none. */
  #write(controller: Controller, file: string, value: string | number): void {
    const folder = this.#folders.get(controller)
    if (!folder) return
    try {
      if (existsSync(join(folder, file))) writeFileSync(join(folder, file), String(value))
    } catch {
      // Seen by the next look: it uses more than it may, or is gone.
    }
  }
}

function read(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null
  }
}

const count = (text: string | null, field: string): number =>
  Number(new RegExp(`^${field} (\\d+)$`, 'm').exec(text ?? '')?.[1] ?? 0)
