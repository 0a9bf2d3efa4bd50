import type { DiscoveredService } from '@berth/contract'

/** The name sent to the adopt route: a container's name is unique on a server, a service's name is not. */
export const adoptionName = ({ name, containerName }: Pick<DiscoveredService, 'name' | 'containerName'>): string =>
  containerName === null ? name : `container:${containerName}`

export const adoptableNames = (services: readonly DiscoveredService[]): string[] =>
  services.filter(({ adoptable }) => adoptable).map(adoptionName)
