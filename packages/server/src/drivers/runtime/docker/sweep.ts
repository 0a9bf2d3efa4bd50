import { callEngine, type Engine } from './engine.ts'
import { type Labels, labelIn } from './labels.ts'
import type { Networks } from './run/networks.ts'
import { endOrphanedCommands } from './run/orphaned-commands.ts'

interface SweepParts {
  engine: Engine
  labels: Labels
  networks: Networks
}

/**
 * Removes containers, networks and commands that served a call of an earlier control plane of this Berth. Those of another
 * Berth may be in use.
 */
export async function removeLeftovers({ engine, labels, networks: projectNetworks }: SweepParts): Promise<void> {
  await endOrphanedCommands(labels)
  for (const kind of ['build', 'helper'] as const) {
    const rows = await callEngine((abortSignal) =>
      engine.listContainers({ all: true, filters: labels.filter(kind), abortSignal }),
    )
    for (const { Id } of rows.filter(({ Labels: objectLabels }) => labelIn(objectLabels, 'run') !== labels.run))
      await callEngine((abortSignal) => engine.getContainer(Id).remove({ force: true, v: true, abortSignal })).catch(
        () => undefined,
      )
  }
  const networks = await callEngine((abortSignal) => engine.listNetworks({ filters: labels.filter('build'), abortSignal }))
  for (const { Id } of networks.filter(({ Labels: objectLabels }) => labelIn(objectLabels, 'run') !== labels.run))
    await callEngine((abortSignal) => engine.getNetwork(Id).remove({ abortSignal })).catch(() => undefined)
  await projectNetworks.removeOrphaned()
}
