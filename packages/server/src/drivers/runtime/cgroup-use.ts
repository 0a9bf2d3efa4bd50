import { join } from 'node:path'
import { isUnified, parseField, pidsOf, readGroupFile, cgroupRoot as root } from './cgroup-files.ts'

export interface GroupUsage {
  /** CPU time since the group was created. */
  cpuSeconds: number
  /** Memory in use, less the page cache that the kernel can reclaim. */
  memoryBytes: number
}

/** Resource usage of a control group of this machine: of the first name that exists, else null. */
export function readGroupUsage(names: readonly string[]): GroupUsage | null {
  return isUnified() ? readUsageV2(names) : readUsageV1(names)
}

/** Process ids of a control group of this machine: of the first name that has any. */
export function groupMembers(names: readonly string[]): number[] {
  const top = isUnified() ? root : join(root, 'memory')
  return names.map((name) => pidsOf(join(top, name))).find((pids) => pids.length > 0) ?? []
}

function readUsageV2(names: readonly string[]): GroupUsage | null {
  for (const name of names) {
    const folder = join(root, name)
    const micros = parseField(readGroupFile(folder, 'cpu.stat'), 'usage_usec')
    const memory = parseNumber(readGroupFile(folder, 'memory.current'))
    if (micros === null || memory === null) continue
    return { cpuSeconds: micros / 1e6, memoryBytes: subtractField(memory, readGroupFile(folder, 'memory.stat'), 'inactive_file') }
  }
  return null
}

/** Reads cgroup v1, which has a hierarchy per controller. CPU accounting may share a hierarchy with the CPU limits. */
function readUsageV1(names: readonly string[]): GroupUsage | null {
  for (const name of names) {
    const folder = join(root, 'memory', name)
    const memory = parseNumber(readGroupFile(folder, 'memory.usage_in_bytes'))
    const nanos = memory === null ? null : cpuNanoseconds(name)
    if (memory === null || nanos === null) continue
    return {
      cpuSeconds: nanos / 1e9,
      memoryBytes: subtractField(memory, readGroupFile(folder, 'memory.stat'), 'total_inactive_file'),
    }
  }
  return null
}

function cpuNanoseconds(name: string): number | null {
  for (const controller of ['cpuacct', 'cpu', 'cpu,cpuacct']) {
    const nanos = parseNumber(readGroupFile(join(root, controller, name), 'cpuacct.usage'))
    if (nanos !== null) return nanos
  }
  return null
}

const subtractField = (bytes: number, stat: string | null, field: string) => Math.max(0, bytes - (parseField(stat, field) ?? 0))

const parseNumber = (text: string | null): number | null => (text === null || text.trim() === '' ? null : Number(text))
