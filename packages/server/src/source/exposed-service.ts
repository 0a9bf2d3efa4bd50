import type { Service } from '@berth/contract'

/** Where a project's requests go: the service that is marked, else the first with a port. */
export const exposedService = (services: readonly Service[]): Service | undefined =>
  services.find(({ exposed }) => exposed) ?? services.find(({ ports = [] }) => ports.length > 0)
