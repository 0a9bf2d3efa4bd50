import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  fieldIn,
  isUnified,
  killMembers,
  membersOf,
  cgroupPeriod as period,
  cgroupRoot as root,
  textIn,
  writeIfThere,
} from '../../cgroup-files.ts'

export interface GroupLimits {
  cpuCores: number
  memoryMb: number
  processes: number
  /** Gives way to everything else when the machine is busy. */
  yields?: boolean
  /** The only cores it may run on, where the machine can confine it to some. */
  cores?: string | null
}

/** A control group: what its processes may use together, and whether they wanted more. */
export interface ControlGroup {
  /** Folders whose `cgroup.procs` a process writes itself into before it becomes the program. */
  readonly folders: readonly string[]
  readonly outOfMemory: boolean
  /** How many of its processes were killed for their memory so far. */
  readonly memoryKills: number
  readonly hitProcessLimit: boolean
  /** Those that are in it now. */
  pids(): number[]
  /** Ends every process of the group. */
  kill(): void
  /** Once its processes have ended; a group that still has some stays. */
  remove(): void
}

/** Makes a group in whichever hierarchy the machine has; null where this process may not. */
export function createControlGroup(name: string, limits: GroupLimits): ControlGroup | null {
  try {
    return isUnified() ? unified(name, limits) : separate(name, limits)
  } catch {
    return null
  }
}

/** The folders of a group that was made before; none where there is no such group. */
export function foldersOfGroup(name: string): string[] {
  const hierarchies = isUnified() ? [''] : ['memory', 'cpu', 'pids', 'cpuset', 'cpuacct']
  return hierarchies.map((controller) => join(root, controller, 'berth', name)).filter((folder) => existsSync(folder))
}

/** Ends what is left in the group of that name, where there is one: a control plane that was killed left it behind. */
export function endControlGroup(name: string): void {
  const folders = foldersOfGroup(name)
  if (folders.length === 0) return
  const left = group(folders, { memoryKills: () => 0, hitProcessLimit: () => false })
  left.kill()
  left.remove()
}

/** cgroup v2: one hierarchy; the controllers must be handed down to our own part of it. */
function unified(name: string, { cpuCores, memoryMb, processes, yields, cores }: GroupLimits): ControlGroup {
  const parent = join(root, 'berth')
  mkdirSync(parent, { recursive: true })
  for (const folder of [root, parent]) writeFileSync(join(folder, 'cgroup.subtree_control'), '+cpu +memory +pids')
  const folder = join(parent, name)
  mkdirSync(folder, { recursive: true })
  write(folder, 'memory.max', memoryMb * 1024 * 1024)
  writeIfThere(folder, 'memory.swap.max', 0)
  write(folder, 'cpu.max', `${Math.round(cpuCores * period)} ${period}`)
  write(folder, 'pids.max', processes)
  writeIfThere(folder, 'cpu.weight', yields ? 10 : 100)
  if (yields) writeIfThere(folder, 'cpu.idle', 1)
  if (cores) confine(folder, cores, [root, parent])
  return group([folder], {
    memoryKills: () => counter(folder, 'memory.events', 'oom_kill'),
    hitProcessLimit: () => counter(folder, 'pids.events', 'max') > 0,
  })
}

/** cgroup v1: a hierarchy for each controller. */
function separate(name: string, { cpuCores, memoryMb, processes, yields, cores }: GroupLimits): ControlGroup {
  const [memory, cpu, pids] = ['memory', 'cpu', 'pids'].map((controller) => {
    if (!existsSync(join(root, controller))) throw new Error(`no ${controller} controller`)
    const folder = join(root, controller, 'berth', name)
    mkdirSync(folder, { recursive: true })
    return folder
  }) as [string, string, string]
  write(memory, 'memory.limit_in_bytes', memoryMb * 1024 * 1024)
  writeIfThere(memory, 'memory.memsw.limit_in_bytes', memoryMb * 1024 * 1024)
  write(cpu, 'cpu.cfs_period_us', period)
  write(cpu, 'cpu.cfs_quota_us', Math.round(cpuCores * period))
  writeIfThere(cpu, 'cpu.shares', yields ? 102 : 1024)
  if (yields) writeIfThere(cpu, 'cpu.idle', 1)
  write(pids, 'pids.max', processes)
  const cpuset = cores ? confinedTo(cores, name) : null
  return group([memory, cpu, pids, ...(cpuset ? [cpuset] : []), ...accountOf(name)], {
    memoryKills: () => counter(memory, 'memory.oom_control', 'oom_kill'),
    hitProcessLimit: () => counter(pids, 'pids.events', 'max') > 0,
  })
}

/** Where the processor's account is kept apart from its limits. */
function accountOf(name: string): string[] {
  const folder = join(root, 'cpuacct', 'berth', name)
  try {
    if (!existsSync(join(root, 'cpuacct'))) return []
    mkdirSync(folder, { recursive: true })
    return [folder]
  } catch {
    return []
  }
}

/** A build that may use every core is still a build: this is best effort. */
function confine(folder: string, cores: string, above: readonly string[]): void {
  try {
    for (const each of above) write(each, 'cgroup.subtree_control', '+cpuset')
    write(folder, 'cpuset.cpus', cores)
  } catch {
    // The controller was not handed down to us.
  }
}

/** In v1 a group has no cores and no memory nodes until it is given some, from the top down. */
function confinedTo(cores: string, name: string): string | null {
  const top = join(root, 'cpuset')
  const folder = join(top, 'berth', name)
  try {
    mkdirSync(folder, { recursive: true })
    const given = { 'cpuset.mems': read(top, 'cpuset.mems'), 'cpuset.cpus': read(top, 'cpuset.cpus') }
    for (const [file, value] of Object.entries(given)) write(join(top, 'berth'), file, value)
    write(folder, 'cpuset.mems', given['cpuset.mems'])
    write(folder, 'cpuset.cpus', cores)
    return folder
  } catch {
    return null
  }
}

function group(folders: readonly string[], signs: { memoryKills(): number; hitProcessLimit(): boolean }): ControlGroup {
  return {
    folders,
    get outOfMemory() {
      return signs.memoryKills() > 0
    },
    get memoryKills() {
      return signs.memoryKills()
    },
    get hitProcessLimit() {
      return signs.hitProcessLimit()
    },
    pids: () => membersOf(folders[0] as string),
    kill: () => killMembers(folders[0] as string),
    remove() {
      for (const folder of folders)
        try {
          rmdirSync(folder)
        } catch {
          // Still in use, or gone: the next one of this name takes it over.
        }
    },
  }
}

const read = (folder: string, file: string) => readFileSync(join(folder, file), 'utf8').trim()
const write = (folder: string, file: string, value: string | number) => writeFileSync(join(folder, file), String(value))
const counter = (folder: string, file: string, name: string) => fieldIn(textIn(folder, file), name) ?? 0
