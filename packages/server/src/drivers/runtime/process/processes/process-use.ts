import { readdirSync } from 'node:fs'
import { processorSecondsWithChildren, processStat } from '../../../../platform/process-stat.ts'
import { type GroupUsage, readGroupUsage } from '../../cgroup-use.ts'
import type { InstanceUsage } from '../../runtime.ts'
import type { InstanceRecord } from './instance-record.ts'

const pageBytes = 4096

/** Resource usage of instances from their control groups, or from the process table where they have none. */
export function usageOf(records: readonly InstanceRecord[]): InstanceUsage[] {
  let table: Map<number, GroupUsage> | undefined
  const usageFromTable = (pid: number) => {
    table ??= usageByProcessGroup()
    return table.get(pid)
  }
  return records.flatMap(({ instanceId, owner, process, startedAt }) => {
    if (!process) return []
    const used = readGroupUsage([`berth/${instanceId}`]) ?? usageFromTable(process.pid)
    return used ? [{ instanceId, owner, startedAt, ...used }] : []
  })
}

/** Adds up the usage of all processes of the machine by process group. */
function usageByProcessGroup(): Map<number, GroupUsage> {
  const groups = new Map<number, GroupUsage>()
  for (const pid of namesIn('/proc')) {
    const fields = processStat(pid)
    if (!fields) continue
    const group = Number(fields[2])
    const sum = groups.get(group) ?? { cpuSeconds: 0, memoryBytes: 0 }
    sum.cpuSeconds += processorSecondsWithChildren(fields)
    sum.memoryBytes += Number(fields[21]) * pageBytes
    groups.set(group, sum)
  }
  return groups
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => /^\d+$/.test(name))
  } catch {
    return []
  }
}
