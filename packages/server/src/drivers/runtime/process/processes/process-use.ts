import { readdirSync } from 'node:fs'
import { processorSecondsWithChildren, processStat } from '../../../../platform/process-stat.ts'
import { type GroupUse, groupUse } from '../../cgroup-use.ts'
import type { InstanceUsage } from '../../runtime.ts'
import type { InstanceRecord } from './instance-record.ts'

const pageBytes = 4096

/** By their control groups; where they have none, by what the process table says of their process groups. */
export function usageOf(records: readonly InstanceRecord[]): InstanceUsage[] {
  let table: Map<number, GroupUse> | undefined
  const inTable = (pid: number) => {
    table ??= byProcessGroup()
    return table.get(pid)
  }
  return records.flatMap(({ instanceId, owner, process, startedAt }) => {
    if (!process) return []
    const used = groupUse([`berth/${instanceId}`]) ?? inTable(process.pid)
    return used ? [{ instanceId, owner, startedAt, ...used }] : []
  })
}

/** One look at every process of the machine. */
function byProcessGroup(): Map<number, GroupUse> {
  const groups = new Map<number, GroupUse>()
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
