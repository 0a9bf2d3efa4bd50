import { join } from 'node:path'
import { fieldIn, isUnified, membersOf, cgroupRoot as root, textIn } from './cgroup-files.ts'

export interface GroupUse {
  /** CPU time since the group was created. */
  cpuSeconds: number
  /** Memory in use, less the page cache that the kernel can reclaim. */
  memoryBytes: number
}

/** Resource usage of a control group of this machine: of the first name that exists, else null. */
export function groupUse(names: readonly string[]): GroupUse | null {
  return isUnified() ? unified(names) : separate(names)
}

/** Process ids of a control group of this machine: of the first name that has any. */
export function groupMembers(names: readonly string[]): number[] {
  const top = isUnified() ? root : join(root, 'memory')
  return names.map((name) => membersOf(join(top, name))).find((pids) => pids.length > 0) ?? []
}

function unified(names: readonly string[]): GroupUse | null {
  for (const name of names) {
    const folder = join(root, name)
    const micros = fieldIn(textIn(folder, 'cpu.stat'), 'usage_usec')
    const memory = numberIn(textIn(folder, 'memory.current'))
    if (micros === null || memory === null) continue
    return { cpuSeconds: micros / 1e6, memoryBytes: without(memory, textIn(folder, 'memory.stat'), 'inactive_file') }
  }
  return null
}

/** Reads cgroup v1, which has a hierarchy per controller. CPU accounting may share a hierarchy with the CPU limits. */
function separate(names: readonly string[]): GroupUse | null {
  for (const name of names) {
    const folder = join(root, 'memory', name)
    const memory = numberIn(textIn(folder, 'memory.usage_in_bytes'))
    const nanos = memory === null ? null : spentNanos(name)
    if (memory === null || nanos === null) continue
    return { cpuSeconds: nanos / 1e9, memoryBytes: without(memory, textIn(folder, 'memory.stat'), 'total_inactive_file') }
  }
  return null
}

function spentNanos(name: string): number | null {
  for (const controller of ['cpuacct', 'cpu', 'cpu,cpuacct']) {
    const nanos = numberIn(textIn(join(root, controller, name), 'cpuacct.usage'))
    if (nanos !== null) return nanos
  }
  return null
}

const without = (bytes: number, stat: string | null, field: string) => Math.max(0, bytes - (fieldIn(stat, field) ?? 0))

const numberIn = (text: string | null): number | null => (text === null || text.trim() === '' ? null : Number(text))
