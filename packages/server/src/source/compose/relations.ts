import type { ComposeNetwork, ComposeService, ComposeVolume } from './model.ts'
import { type Place, refuse, warn, within } from './place.ts'

/** What one part of the file says of another: dependencies, volumes and networks that have to exist. */
export function relate(services: ComposeService[], volumes: ComposeVolume[], networks: ComposeNetwork[], root: Place): void {
  const at = (service: ComposeService, field: string) => within(within(within(root, 'services'), service.name), field)
  const names = new Set(services.map((service) => service.name))
  const knownVolumes = new Set(volumes.map((volume) => volume.name))
  const knownNetworks = new Set(['default', ...networks.map((network) => network.name)])
  for (const service of services) {
    service.dependsOn = service.dependsOn.filter((dependency) => {
      if (names.has(dependency.service)) return true
      warn(at(service, 'depends_on'), `there is no service "${dependency.service}"; it is not waited for`)
      return false
    })
    for (const { source } of service.volumes.filter((mount) => mount.type === 'volume')) {
      if (source === null || knownVolumes.has(source)) continue
      knownVolumes.add(source)
      warn(at(service, 'volumes'), `the volume "${source}" is not declared under volumes; it is made all the same`)
      volumes.push({ name: source, hostName: null, external: false, labels: {} })
    }
    for (const { name } of service.networks) {
      if (knownNetworks.has(name)) continue
      knownNetworks.add(name)
      warn(at(service, 'networks'), `the network "${name}" is not declared under networks; it is made all the same`)
      networks.push({ name, hostName: null, external: false, internal: false })
    }
  }
  refuseCircles(services, (service) => at(service, 'depends_on'))
}

/** Takes away, one after the other, whatever waits for nothing that is left: what stays waits for itself. */
function refuseCircles(services: ComposeService[], place: (service: ComposeService) => Place): void {
  const waitsFor = new Map(services.map((service) => [service.name, new Set(service.dependsOn.map((one) => one.service))]))
  const waiters = new Map<string, string[]>(services.map((service) => [service.name, []]))
  for (const [name, others] of waitsFor) for (const other of others) waiters.get(other)?.push(name)
  const free = services.filter((service) => waitsFor.get(service.name)!.size === 0).map((service) => service.name)
  for (let name = free.pop(); name !== undefined; name = free.pop()) {
    waitsFor.delete(name)
    for (const waiter of waiters.get(name) ?? []) {
      const others = waitsFor.get(waiter)
      others?.delete(name)
      if (others?.size === 0) free.push(waiter)
    }
  }
  const first = services.find((service) => waitsFor.has(service.name))
  if (first) refuse(place(first), `services wait for one another: ${[...waitsFor.keys()].join(', ')}`)
}
