import type { ContainerInfo, ContainerStats } from 'dockerode'
import { type GroupUse, groupUse } from '../../cgroup-use.ts'
import type { InstanceUsage } from '../../runtime.ts'
import { callEngine, type Engine, isRemote } from '../engine.ts'
import { type Labels, labelIn, ownerIn } from '../labels.ts'

const maxConcurrent = 4
const statsMs = 10_000

/** Reads usage with one list call and the control group of each container, or from the engine where that is inaccessible. */
export async function readUsage(
  { engine, labels }: { engine: Engine; labels: Labels },
  abort: AbortSignal,
): Promise<InstanceUsage[]> {
  const filters = { ...labels.filter('instance'), status: ['running'] }
  const running = await callEngine((abortSignal) => engine.listContainers({ filters, abortSignal }), { abort })
  const usage: InstanceUsage[] = []
  const unseen: ContainerInfo[] = []
  for (const row of running) {
    const used = isRemote(engine) ? null : groupUse([`docker/${row.Id}`, `system.slice/docker-${row.Id}.scope`])
    if (used) usage.push(shown(row, used))
    else unseen.push(row)
  }
  const queue = unseen.values()
  const work = Array.from({ length: Math.min(maxConcurrent, unseen.length) }, async () => {
    for (const row of queue) {
      const used = await engineUse(row.Id, engine, abort).catch(() => null)
      if (used) usage.push(shown(row, used))
    }
  })
  await Promise.all(work)
  abort.throwIfAborted()
  return usage
}

const shown = ({ Labels: marks, Created }: ContainerInfo, used: GroupUse): InstanceUsage => ({
  instanceId: labelIn(marks, 'id'),
  owner: ownerIn(marks),
  startedAt: new Date(Created * 1000).toISOString(),
  ...used,
})

/** Reads the engine's statistics once, without the second sample that the engine takes for a rate. */
async function engineUse(id: string, engine: Engine, abort: AbortSignal): Promise<GroupUse | null> {
  const options = { stream: false, 'one-shot': true } as { stream: false; 'one-shot': true }
  const stats: ContainerStats = await callEngine(() => engine.getContainer(id).stats(options), { abort, timeoutMs: statsMs })
  const total = stats.cpu_stats?.cpu_usage?.total_usage
  const memory = stats.memory_stats?.usage
  if (total === undefined || memory === undefined) return null
  const { stats: parts } = stats.memory_stats as { stats?: { inactive_file?: number; total_inactive_file?: number } }
  const given = parts?.total_inactive_file ?? parts?.inactive_file ?? 0
  return { cpuSeconds: total / 1e9, memoryBytes: Math.max(0, memory - given) }
}
