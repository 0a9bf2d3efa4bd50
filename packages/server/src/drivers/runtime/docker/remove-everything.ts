import { join } from 'node:path'
import { createRunCommand } from '../../shell/run-command.ts'
import { BuildCache } from './build/build-cache.ts'
import { openEngine } from './engine.ts'
import { namesOf } from './images.ts'
import { Labels } from './labels.ts'
import { EgressFilter } from './run/egress-filter.ts'

/**
 * Removes a Berth from an engine: all objects with its labels, and nothing else. With the runtime's folder it also removes the
 * cache of its builds. For tests, and for operators who uninstall Berth.
 */
export async function removeEverythingOf(instance: string, socketPath: string, folder?: string): Promise<void> {
  const engine = openEngine(socketPath)
  const filters = { label: new Labels(instance).filter('instance').label.filter((label) => label.startsWith('berth.instance=')) }
  for (const { Id } of await engine.listContainers({ all: true, filters }))
    await engine.getContainer(Id).remove({ force: true, v: true })
  const images = await engine.listImages({ filters })
  for (const name of images.flatMap(({ Id, RepoTags }) => namesOf(Id, RepoTags)))
    await engine
      .getImage(name)
      .remove({ force: true })
      .catch(() => undefined)
  if (folder) await new BuildCache(engine, join(folder, 'build-cache.json')).clear().catch(() => undefined)
  const { Volumes } = await engine.listVolumes({ filters: JSON.stringify(filters) } as object)
  for (const { Name } of Volumes ?? []) await engine.getVolume(Name).remove()
  for (const { Id } of await engine.listNetworks({ filters })) await engine.getNetwork(Id).remove()
  const shell = createRunCommand({})
  if (process.getuid?.() === 0) await new EgressFilter({ instance, shell, isStrict: false, openPorts: [] }).remove()
}
