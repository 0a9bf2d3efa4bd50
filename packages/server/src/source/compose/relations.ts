import { type Location, refuse, warn, within } from './location.ts'
import type { ComposeNetwork, ComposeService, ComposeVolume } from './model.ts'

/** Checks references between parts of the file: dependencies, volumes and networks. */
export function checkReferences(
  services: ComposeService[],
  volumes: ComposeVolume[],
  networks: ComposeNetwork[],
  root: Location,
): void {
  const at = (service: ComposeService, field: string) => within(within(within(root, 'services'), service.name), field)
  const names = new Set(services.map((service) => service.name))
  const knownVolumes = new Set(volumes.map((volume) => volume.name))
  const knownNetworks = new Set(['default', ...networks.map((network) => network.name)])
  for (const service of services) {
    service.dependsOn = service.dependsOn.filter((dependency) => {
      if (names.has(dependency.service)) return true
      if (dependency.required) refuse(at(service, 'depends_on'), `there is no service "${dependency.service}"`)
      return false
    })
    for (const { source } of service.volumes.filter((mount) => mount.type === 'volume')) {
      if (source === null || knownVolumes.has(source)) continue
      knownVolumes.add(source)
      warn(at(service, 'volumes'), `the volume "${source}" is not declared under volumes; it is created anyway`)
      volumes.push({ name: source, hostName: null, external: false, labels: {} })
    }
    for (const { name } of service.networks) {
      if (knownNetworks.has(name)) continue
      knownNetworks.add(name)
      warn(at(service, 'networks'), `the network "${name}" is not declared under networks; it is created anyway`)
      networks.push({ name, hostName: null, external: false, internal: false })
    }
  }
  shareVolumes(services, (service) => at(service, 'volumes_from'))
  addLinkAliases(services, (service) => at(service, 'links'))
  refuseCycles(services, (service) => at(service, 'depends_on'))
}

/** Adds the mounts of the services in `volumes_from`; the service's own mounts take precedence. */
function shareVolumes(services: ComposeService[], location: (service: ComposeService) => Location): void {
  const byName = new Map(services.map((service) => [service.name, service]))
  const ownVolumes = new Map(services.map(({ name, volumes }) => [name, volumes]))
  for (const service of services)
    for (const { service: name, readOnly } of service.volumesFrom) {
      const other = byName.get(name)
      if (!other) refuse(location(service), `there is no service "${name}"`)
      else if (other.volumesFrom.length > 0) refuse(location(service), `"${name}" takes its volumes from another service`)
      const usedTargets = new Set(service.volumes.map(({ target }) => target))
      const shared = (ownVolumes.get(name) ?? []).filter(({ type, target }) => type !== 'tmpfs' && !usedTargets.has(target))
      service.volumes = [...service.volumes, ...shared.map((mount) => ({ ...mount, readOnly: readOnly || mount.readOnly }))]
      if (other && !service.dependsOn.some((one) => one.service === name))
        service.dependsOn.push({ service: name, condition: 'service_started', required: true })
    }
}

/** Turns link aliases into network aliases of the linked service. Two services cannot have the same one. */
function addLinkAliases(services: ComposeService[], location: (service: ComposeService) => Location): void {
  const owners = new Map(services.map(({ name }) => [name, name]))
  for (const service of services)
    for (const { service: name, alias } of service.linkAliases) {
      const other = services.find((one) => one.name === name)
      const owner = owners.get(alias) ?? name
      if (owner !== name) refuse(location(service), `"${alias}" is the name of "${owner}" already`)
      owners.set(alias, name)
      if (!other) continue
      if (other.networks.length === 0) other.networks = [{ name: 'default', aliases: [] }]
      for (const network of other.networks) network.aliases = [...new Set([...network.aliases, alias])]
    }
}

/** Refuses dependency cycles: removes services without remaining dependencies until only cycles are left. */
function refuseCycles(services: ComposeService[], location: (service: ComposeService) => Location): void {
  const waitsFor = new Map(services.map((service) => [service.name, new Set(service.dependsOn.map((one) => one.service))]))
  const waiters = new Map<string, string[]>(services.map((service) => [service.name, []]))
  for (const [name, others] of waitsFor) for (const other of others) waiters.get(other)?.push(name)
  const ready = services.filter((service) => waitsFor.get(service.name)!.size === 0).map((service) => service.name)
  for (let name = ready.pop(); name !== undefined; name = ready.pop()) {
    waitsFor.delete(name)
    for (const waiter of waiters.get(name) ?? []) {
      const others = waitsFor.get(waiter)
      others?.delete(name)
      if (others?.size === 0) ready.push(waiter)
    }
  }
  const first = services.find((service) => waitsFor.has(service.name))
  if (first) refuse(location(first), `services depend on each other: ${[...waitsFor.keys()].join(', ')}`)
}
