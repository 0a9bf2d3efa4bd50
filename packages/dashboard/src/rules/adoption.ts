import type { DiscoveredService } from '@berth/contract'

/** By which name a service is asked for: two of one name are told apart by their containers. */
export const pickName = ({ name, containerName }: Pick<DiscoveredService, 'name' | 'containerName'>): string =>
  containerName ?? name

export const adoptableNames = (services: readonly DiscoveredService[]): string[] =>
  services.filter(({ adoptable }) => adoptable).map(pickName)
