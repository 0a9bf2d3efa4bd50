import { setTimeout as pause } from 'node:timers/promises'
import type Docker from 'dockerode'
import { createRunCommand } from '../../shell/run-command.ts'
import { type Engine, openEngine, statusOf } from './engine.ts'
import { namesOf } from './images.ts'
import { Labels } from './labels.ts'
import { EgressFilter } from './run/egress-filter.ts'
import { swarmNetworkPrefix } from './swarm-network-name.ts'

/** A busy engine needs longer than ten seconds to end a start that was requested before. */
const maxAttempts = 120
const maxSettingsAttempts = 20
const retryMs = 500

function ignoreMissing(error: unknown): void {
  if (statusOf(error) !== 404) throw error
}

/**
 * Removes a Berth from an engine: all objects with its labels, and nothing else. The build cache stays: the engine has one for all
 * its users, and records that appeared during builds of two instances count for both. Another instance would then build a service
 * again that did not change, and restart it. For tests, and for operators who uninstall Berth.
 */
export async function removeEverythingOf(instance: string, socketPath: string): Promise<void> {
  const engine = openEngine(socketPath)
  const filters = { label: new Labels(instance).filter('instance').label.filter((label) => label.startsWith('berth.instance=')) }
  const removeContainers = async () => {
    for (const { Id } of await engine.listContainers({ all: true, filters }))
      await engine.getContainer(Id).remove({ force: true, v: true }).catch(ignoreMissing)
  }
  await removeServices(instance, engine)
  await removeContainers()
  const images = await engine.listImages({ filters })
  for (const name of images.flatMap(({ Id, RepoTags }) => namesOf(Id, RepoTags)))
    await engine
      .getImage(name)
      .remove({ force: true })
      .catch(() => undefined)
  const { Volumes } = await engine.listVolumes({ filters: JSON.stringify(filters) } as object)
  for (const { Name } of Volumes ?? []) await engine.getVolume(Name).remove()
  for (const { Id } of await engine.listNetworks({ filters })) await removeNetwork(engine.getNetwork(Id), removeContainers)
  const shell = createRunCommand({})
  if (process.getuid?.() === 0) await new EgressFilter({ instance, shell, isStrict: false, openPorts: [] }).remove()
}

async function removeNetwork(network: Docker.Network, removeContainers: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await network.remove().catch(ignoreMissing)
    } catch (error) {
      // An engine of version 20.10 keeps the settings of a swarm's bridge in use after a restart, for good.
      if (/configuration network/.test(String(error)) && attempt >= maxSettingsAttempts) return
      // The engine still finishes a request of a killed control plane, such as a start.
      if (statusOf(error) !== 403 || attempt === maxAttempts) throw error
      await removeContainers()
      await pause(retryMs)
      // A container that was removed while the engine restarted it can leave its endpoint behind.
      if (attempt > 2) await disconnectAll(network)
    }
  }
}

async function disconnectAll(network: Docker.Network): Promise<void> {
  const { Containers } = (await network.inspect()) as { Containers?: Record<string, { Name: string }> }
  // The engine names an endpoint without a container by the container's former name.
  for (const [id, { Name }] of Object.entries(Containers ?? {}))
    await network.disconnect({ Container: id.startsWith('ep-') ? Name : id, Force: true }).catch(() => undefined)
}

/** Services and secrets of the swarm runtime, and its networks, which cannot have labels. */
async function removeServices(instance: string, engine: Engine): Promise<void> {
  const { Swarm } = (await engine.info()) as { Swarm?: { ControlAvailable?: boolean } }
  if (!Swarm?.ControlAvailable) return
  const filters = JSON.stringify({ label: [`berth.instance=${instance}`] })
  for (const { ID } of (await engine.listServices({ filters } as object)) as { ID?: string }[])
    await engine
      .getService(ID ?? '')
      .remove()
      .catch(ignoreMissing)
  for (const { ID } of (await engine.listSecrets({ filters } as object)) as { ID?: string }[])
    await engine
      .getSecret(ID ?? '')
      .remove()
      .catch(ignoreMissing)
  for (const { Id, Name } of await engine.listNetworks())
    if (Name.startsWith(swarmNetworkPrefix(instance))) await engine.getNetwork(Id).remove().catch(ignoreMissing)
}
