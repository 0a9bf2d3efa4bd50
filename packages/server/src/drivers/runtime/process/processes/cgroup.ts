import { accessSync, constants, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
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

export interface GroupLimits {
  cpuCores: number
  memoryMb: number
  processes: number
  /** Gets the lowest CPU priority. */
  isLowPriority?: boolean
  /** CPUs that it may run on, where the machine supports cpusets. */
  cores?: string | null
}

/** A control group: limits of its processes, and whether they reached them. */
export interface ControlGroup {
  /** Folders whose `cgroup.procs` a process writes its pid into before it becomes the program. */
  readonly folders: readonly string[]
  readonly outOfMemory: boolean
  /** Number of its processes that the kernel has killed for their memory. */
  readonly memoryKills: number
  readonly hitProcessLimit: boolean
  /** Current processes of the group. */
  pids(): number[]
  /** Kills every process of the group. */
  kill(): void
  /** Removes the group if all its processes have ended. */
  remove(): void
}

/** Creates a group under cgroup v1 or v2. Null without permission. */
export function createControlGroup(name: string, limits: GroupLimits): ControlGroup | null {
  try {
    return isUnified() ? createGroupV2(name, limits) : createGroupV1(name, limits)
  } catch {
    return null
  }
}

/** Folders of an existing group. Empty if there is no such group, or if it belongs to a control plane of another user. */
export function foldersOfGroup(name: string): string[] {
  const hierarchies = isUnified() ? [''] : ['memory', 'cpu', 'pids', 'cpuset', 'cpuacct']
  return hierarchies.map((controller) => join(root, controller, 'berth', name)).filter(mayJoin)
}

function mayJoin(folder: string): boolean {
  try {
    accessSync(join(folder, 'cgroup.procs'), constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** Opens the group of a process that an earlier control plane started. Its limits stay as they are. Null if there is none. */
export function openControlGroup(name: string): ControlGroup | null {
  const folders = foldersOfGroup(name)
  const memory = folders[0]
  if (!memory) return null
  const pids = folders.find((folder) => existsSync(join(folder, 'pids.max'))) ?? memory
  return group(folders, {
    memoryKills: () => counter(memory, isUnified() ? 'memory.events' : 'memory.oom_control', 'oom_kill'),
    hitProcessLimit: () => counter(pids, 'pids.events', 'max') > 0,
  })
}

/** Kills the processes of a group that a killed control plane left behind, and removes it. */
export function endControlGroup(name: string): void {
  const folders = foldersOfGroup(name)
  if (folders.length === 0) return
  const leftover = group(folders, { memoryKills: () => 0, hitProcessLimit: () => false })
  leftover.kill()
  leftover.remove()
}

/** cgroup v2 has one hierarchy. The controllers must be enabled down to Berth's part of it. */
function createGroupV2(name: string, { cpuCores, memoryMb, processes, isLowPriority, cores }: GroupLimits): ControlGroup {
  const parent = join(root, 'berth')
  mkdirSync(parent, { recursive: true })
  for (const folder of [root, parent]) writeFileSync(join(folder, 'cgroup.subtree_control'), '+cpu +memory +pids')
  const folder = join(parent, name)
  mkdirSync(folder, { recursive: true })
  write(folder, 'memory.max', memoryMb * 1024 * 1024)
  writeIfExists(folder, 'memory.swap.max', 0)
  write(folder, 'cpu.max', `${Math.round(cpuCores * period)} ${period}`)
  write(folder, 'pids.max', processes)
  writeIfExists(folder, 'cpu.weight', isLowPriority ? 10 : 100)
  if (isLowPriority) writeIfExists(folder, 'cpu.idle', 1)
  if (cores) limitCpusV2(folder, cores, [root, parent])
  return group([folder], {
    memoryKills: () => counter(folder, 'memory.events', 'oom_kill'),
    hitProcessLimit: () => counter(folder, 'pids.events', 'max') > 0,
  })
}

/** cgroup v1 has a hierarchy per controller. */
function createGroupV1(name: string, { cpuCores, memoryMb, processes, isLowPriority, cores }: GroupLimits): ControlGroup {
  const [memory, cpu, pids] = ['memory', 'cpu', 'pids'].map((controller) => {
    if (!existsSync(join(root, controller))) throw new Error(`no ${controller} controller`)
    const folder = join(root, controller, 'berth', name)
    mkdirSync(folder, { recursive: true })
    return folder
  }) as [string, string, string]
  write(memory, 'memory.limit_in_bytes', memoryMb * 1024 * 1024)
  writeIfExists(memory, 'memory.memsw.limit_in_bytes', memoryMb * 1024 * 1024)
  write(cpu, 'cpu.cfs_period_us', period)
  write(cpu, 'cpu.cfs_quota_us', Math.round(cpuCores * period))
  writeIfExists(cpu, 'cpu.shares', isLowPriority ? 102 : 1024)
  if (isLowPriority) writeIfExists(cpu, 'cpu.idle', 1)
  write(pids, 'pids.max', processes)
  const cpusetFolder = cores ? limitCpusV1(cores, name) : null
  return group([memory, cpu, pids, ...(cpusetFolder ? [cpusetFolder] : []), ...cpuAccountingFolder(name)], {
    memoryKills: () => counter(memory, 'memory.oom_control', 'oom_kill'),
    hitProcessLimit: () => counter(pids, 'pids.events', 'max') > 0,
  })
}

/** Folder of the CPU accounting, where that has its own hierarchy. */
function cpuAccountingFolder(name: string): string[] {
  const folder = join(root, 'cpuacct', 'berth', name)
  try {
    if (!existsSync(join(root, 'cpuacct'))) return []
    mkdirSync(folder, { recursive: true })
    return [folder]
  } catch {
    return []
  }
}

/** Limits a group to some CPUs. Best effort: a build that uses every CPU still works. */
function limitCpusV2(folder: string, cores: string, parents: readonly string[]): void {
  try {
    for (const parent of parents) write(parent, 'cgroup.subtree_control', '+cpuset')
    write(folder, 'cpuset.cpus', cores)
  } catch {
    // The controller is not available to Berth.
  }
}

/** cgroup v1: a new group has no CPUs and no memory nodes. Both must be set from the top down. */
function limitCpusV1(cores: string, name: string): string | null {
  const top = join(root, 'cpuset')
  const folder = join(top, 'berth', name)
  try {
    mkdirSync(folder, { recursive: true })
    const inherited = { 'cpuset.mems': read(top, 'cpuset.mems'), 'cpuset.cpus': read(top, 'cpuset.cpus') }
    for (const [file, value] of Object.entries(inherited)) write(join(top, 'berth'), file, value)
    write(folder, 'cpuset.mems', inherited['cpuset.mems'])
    write(folder, 'cpuset.cpus', cores)
    return folder
  } catch {
    return null
  }
}

function group(folders: readonly string[], counters: { memoryKills(): number; hitProcessLimit(): boolean }): ControlGroup {
  return {
    folders,
    get outOfMemory() {
      return counters.memoryKills() > 0
    },
    get memoryKills() {
      return counters.memoryKills()
    },
    get hitProcessLimit() {
      return counters.hitProcessLimit()
    },
    pids: () => pidsOf(folders[0] as string),
    kill: () => killMembers(folders[0] as string),
    remove() {
      for (const folder of folders)
        try {
          rmdirSync(folder)
        } catch {
          // Still in use, or already removed. The next group of this name reuses it.
        }
    },
  }
}

const read = (folder: string, file: string) => readFileSync(join(folder, file), 'utf8').trim()
const write = (folder: string, file: string, value: string | number) => writeFileSync(join(folder, file), String(value))
const counter = (folder: string, file: string, name: string) => parseField(readGroupFile(folder, file), name) ?? 0
