import type { ContainerInfo, ContainerStats } from 'dockerode'
import { type GroupUsage, readGroupUsage } from '../../cgroup-use.ts'
import type { InstanceUsage } from '../../runtime.ts'
import { callEngine, type Engine, isRemote } from '../engine.ts'
import { type Labels, labelIn, ownerIn } from '../labels.ts'

const maxConcurrent = 4
const statsTimeoutMs = 10_000

/** Reads usage with one list call and the control group of each container, or from the engine where that is inaccessible. */
export async function readUsage(
  { engine, labels }: { engine: Engine; labels: Labels },
  abort: AbortSignal,
): Promise<InstanceUsage[]> {
  const filters = { ...labels.filter('instance'), status: ['running'] }
  const running = await callEngine((abortSignal) => engine.listContainers({ filters, abortSignal }), { abort })
  const usage: InstanceUsage[] = []
  const withoutGroup: ContainerInfo[] = []
  for (const row of running) {
    const used = isRemote(engine) ? null : readGroupUsage([`docker/${row.Id}`, `system.slice/docker-${row.Id}.scope`])
    if (used) usage.push(toInstanceUsage(row, used))
    else withoutGroup.push(row)
  }
  const queue = withoutGroup.values()
  const workers = Array.from({ length: Math.min(maxConcurrent, withoutGroup.length) }, async () => {
    for (const row of queue) {
      const used = await readEngineUsage(row.Id, engine, abort).catch(() => null)
      if (used) usage.push(toInstanceUsage(row, used))
    }
  })
  await Promise.all(workers)
  abort.throwIfAborted()
  return usage
}

const toInstanceUsage = ({ Labels: containerLabels, Created }: ContainerInfo, used: GroupUsage): InstanceUsage => ({
  instanceId: labelIn(containerLabels, 'id'),
  owner: ownerIn(containerLabels),
  startedAt: new Date(Created * 1000).toISOString(),
  ...used,
})

/** Reads the engine's statistics once, without the second sample that the engine takes for a rate. */
async function readEngineUsage(id: string, engine: Engine, abort: AbortSignal): Promise<GroupUsage | null> {
  const options = { stream: false, 'one-shot': true } as { stream: false; 'one-shot': true }
  const stats: ContainerStats = await callEngine(() => engine.getContainer(id).stats(options), {
    abort,
    timeoutMs: statsTimeoutMs,
  })
  const total = stats.cpu_stats?.cpu_usage?.total_usage
  const memory = stats.memory_stats?.usage
  if (total === undefined || memory === undefined) return null
  const { stats: memoryDetails } = stats.memory_stats as { stats?: { inactive_file?: number; total_inactive_file?: number } }
  const reclaimableBytes = memoryDetails?.total_inactive_file ?? memoryDetails?.inactive_file ?? 0
  return { cpuSeconds: total / 1e9, memoryBytes: Math.max(0, memory - reclaimableBytes) }
}
