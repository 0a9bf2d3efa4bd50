import type { ComposeNetwork, ComposeService, ComposeVolume } from './model.ts'
import { type Place, refuse, warn, within } from './place.ts'

/** What one part of the file says of another: dependencies, volumes and networks that have to exist. */
export function relate(services: ComposeService[], volumes: ComposeVolume[], networks: ComposeNetwork[], root: Place): void {
  const at = (service: ComposeService, field: string) => within(within(within(root, 'services'), service.name), field)
  const names = new Set(services.map((service) => service.name))
  for (const service of services) {
    service.dependsOn = service.dependsOn.filter((dependency) => {
      if (names.has(dependency.service)) return true
      warn(at(service, 'depends_on'), `there is no service "${dependency.service}"; it is not waited for`)
      return false
    })
    for (const { source } of service.volumes.filter((mount) => mount.type === 'volume')) {
      if (source === null || volumes.some((volume) => volume.name === source)) continue
      warn(at(service, 'volumes'), `the volume "${source}" is not declared under volumes; it is made all the same`)
      volumes.push({ name: source, hostName: null, external: false, labels: {} })
    }
    for (const { name } of service.networks) {
      if (name === 'default' || networks.some((network) => network.name === name)) continue
      warn(at(service, 'networks'), `the network "${name}" is not declared under networks; it is made all the same`)
      networks.push({ name, hostName: null, external: false, internal: false })
    }
  }
  refuseCircles(services, (service) => at(service, 'depends_on'))
}

/** Takes away, again and again, whatever waits for nothing: what stays waits for itself. */
function refuseCircles(services: ComposeService[], place: (service: ComposeService) => Place): void {
  let waiting = services
  for (;;) {
    const names = new Set(waiting.map((service) => service.name))
    const left = waiting.filter((service) => service.dependsOn.some((dependency) => names.has(dependency.service)))
    if (left.length === waiting.length) break
    waiting = left
  }
  const [first] = waiting
  if (first) refuse(place(first), `services wait for one another: ${waiting.map((service) => service.name).join(', ')}`)
}
