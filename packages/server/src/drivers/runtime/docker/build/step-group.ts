import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  isUnified,
  killMembers,
  parseField,
  cgroupPeriod as period,
  pidsOf,
  readGroupFile,
  cgroupRoot as root,
  writeIfExists,
} from '../../cgroup-files.ts'

const controllers = ['memory', 'cpu', 'cpuset', 'pids'] as const
type Controller = (typeof controllers)[number]

export interface StepLimits {
  cpuCores: number
  memoryMb: number
  processes: number
  /** CPUs that it may run on. Null: any. */
  cores: string | null
}

/** Control group of a build step. BuildKit created it; Berth limits it from outside while it exists. */
export class StepGroup {
  /** Identifies the step: the same for all its processes. */
  readonly key: string
  readonly #folders: ReadonlyMap<Controller, string>
  readonly #isUnified = isUnified()
  #oomKillsBefore = 0

  /** Group of a process. Undefined if the process has ended, or its group cannot be limited. */
  static ofProcess(pid: number): StepGroup | undefined {
    const text = readGroupFile(`/proc/${pid}`, 'cgroup')
    return text === null ? undefined : StepGroup.parse(text)
  }

  /** Parses `/proc/<pid>/cgroup`: `0::/path` under cgroup v2, or lines such as `4:cpu,cpuacct:/path` under v1. */
  static parse(text: string): StepGroup | undefined {
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
  }

  /** Sets the limits, the number of processes first because it grows fastest. A step already over its memory is out of memory. */
  limit({ cpuCores, memoryMb, processes, cores }: StepLimits): void {
    const bytes = memoryMb * 1024 * 1024
    const quota = Math.round(cpuCores * period)
    this.#write('pids', 'pids.max', processes)
    if (this.#isUnified) {
      this.#oomKillsBefore = this.#parentOomKills()
      this.#write('memory', 'memory.max', bytes)
      this.#write('memory', 'memory.swap.max', 0)
      this.#write('cpu', 'cpu.max', `${quota} ${period}`)
      this.#write('cpu', 'cpu.weight', 10)
    } else {
      // The kernel pauses the step instead of killing it, so that the next check sees the reason.
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

  get exists(): boolean {
    return existsSync(this.key)
  }

  get pids(): number[] {
    return pidsOf(this.key)
  }

  get processes(): number {
    return Number(readGroupFile(this.#folders.get('pids') ?? '', 'pids.current') ?? 0)
  }

  isOutOfMemory({ memoryMb }: Pick<StepLimits, 'memoryMb'>): boolean {
    if (this.#isUnified) return (parseField(readGroupFile(this.key, 'memory.events'), 'oom_kill') ?? 0) > 0
    const reported = readGroupFile(this.key, 'memory.oom_control')
    const used = Number(readGroupFile(this.key, 'memory.usage_in_bytes') ?? 0)
    return (
      (parseField(reported, 'under_oom') ?? 0) > 0 || (parseField(reported, 'oom_kill') ?? 0) > 0 || used > memoryMb * 1024 * 1024
    )
  }

  /** Whether the kernel killed a process of the parent group for its memory since the limit was set, also after the step's end. */
  get hasOomKills(): boolean {
    return this.#isUnified && this.#parentOomKills() > this.#oomKillsBefore
  }

  kill(): void {
    killMembers(this.key)
  }

  #parentOomKills = () => parseField(readGroupFile(dirname(this.key), 'memory.events'), 'oom_kill') ?? 0

  #write(controller: Controller, file: string, value: string | number): void {
    const folder = this.#folders.get(controller)
    if (folder) writeIfExists(folder, file, value)
  }
}
