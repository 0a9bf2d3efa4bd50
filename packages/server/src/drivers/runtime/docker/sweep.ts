import { callEngine, type Engine } from './engine.ts'
import { type Labels, labelIn } from './labels.ts'
import { endLeftPrograms } from './run/left-programs.ts'
import type { Networks } from './run/networks.ts'

interface SweepParts {
  engine: Engine
  labels: Labels
  networks: Networks
}

/**
 * Removes containers, networks and commands that served a call of an earlier control plane of this Berth. Those of another
 * Berth may be in use.
 */
export async function sweep({ engine, labels, networks: projects }: SweepParts): Promise<void> {
  await endLeftPrograms(labels)
  for (const kind of ['build', 'helper'] as const) {
    const rows = await callEngine((abortSignal) =>
      engine.listContainers({ all: true, filters: labels.filter(kind), abortSignal }),
    )
    for (const { Id } of rows.filter(({ Labels: marks }) => labelIn(marks, 'run') !== labels.run))
      await callEngine((abortSignal) => engine.getContainer(Id).remove({ force: true, v: true, abortSignal })).catch(
        () => undefined,
      )
  }
  const networks = await callEngine((abortSignal) => engine.listNetworks({ filters: labels.filter('build'), abortSignal }))
  for (const { Id } of networks.filter(({ Labels: marks }) => labelIn(marks, 'run') !== labels.run))
    await callEngine((abortSignal) => engine.getNetwork(Id).remove({ abortSignal })).catch(() => undefined)
  await projects.removeLeft()
}
