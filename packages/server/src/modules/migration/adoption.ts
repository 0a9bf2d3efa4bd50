import type { AdoptBody, Service } from '@berth/contract'
import type { AdoptedVolume } from '../../drivers/runtime/runtime.ts'
import { AdoptedVolumes } from './adopted-mounts.ts'
import { type AdoptedService, adoptService } from './adopted-service.ts'
import { chooseServices } from './chosen-services.ts'
import type { Discovery } from './discover.ts'
import { dependenciesOf } from './discovered-service.ts'
import { plainText } from './plain-text.ts'
import { type NamedService, nameServices } from './service-names.ts'

export interface Adoption {
  serverId: string
  parts: { named: NamedService; adopted: AdoptedService }[]
  volumes: ReadonlyMap<string, AdoptedVolume>
  renamed: Record<string, string>
  warnings: string[]
}

/** Computes the adoption from the current state of the server. */
export function adoptionOf(
  { serverId, serviceNames }: AdoptBody,
  discovery: Discovery,
  adoptedBy: ReadonlyMap<string, string>,
): Adoption {
  const { services, renamed } = nameServices(chooseServices(serviceNames, discovery, adoptedBy))
  const volumes = new AdoptedVolumes()
  const variableNames = new Set<string>()
  const internalNetworks = new Set(discovery.docker.networks.filter(({ internal }) => internal).map(({ name }) => name))
  const parts = services.map((named) => ({
    named,
    adopted: adoptService(named, {
      image: discovery.docker.images.get(named.container.imageId),
      dependsOn: dependencyNames(named, services, discovery),
      volumes,
      variableNames,
      internalNetworks,
    }),
  }))
  exposeOne(parts.map(({ adopted }) => adopted.service))
  const warnings = [...parts.flatMap(({ adopted }) => adopted.warnings), ...sharedWithOthers(parts, volumes.byName, discovery)]
  return { serverId, parts, volumes: volumes.byName, renamed, warnings }
}

/** Project names of the services that this one depends on, within its own stack. */
function dependencyNames({ labels }: NamedService, services: readonly NamedService[], { stacks }: Discovery): string[] {
  if (!labels) return []
  const inFile = stacks.get(labels.project)?.files.file?.services.find(({ name }) => name === labels.service)
  const dependencies = new Set(dependenciesOf(labels.dependsOn, inFile))
  return services
    .filter((other) => other.labels?.project === labels.project && dependencies.has(other.labels.service))
    .map(({ name }) => name)
}

/** Only one service is exposed: the first that published port 80 or 443. */
function exposeOne(services: Service[]): void {
  const first = services.find(({ exposed }) => exposed)
  for (const service of services) service.exposed = service === first
}

/** Warns about containers that are not adopted and continue to write to the same data. */
function sharedWithOthers(
  parts: Adoption['parts'],
  volumes: ReadonlyMap<string, AdoptedVolume>,
  { docker }: Discovery,
): string[] {
  const adoptedIds = new Set(parts.flatMap(({ named }) => [named.container, ...named.replicas].map(({ id }) => id)))
  const sources = new Set([...volumes.values()].map((volume) => ('volume' in volume ? volume.volume : volume.path)))
  return docker.containers
    .filter(
      ({ id, state, mounts }) =>
        !adoptedIds.has(id) && state === 'running' && mounts.some((one) => sources.has(one.source ?? '')),
    )
    .map(({ name }) => `the container ${plainText(name)} uses the same data, is not adopted and keeps running`)
}
