import type { InstanceParts } from '../docker/run/instances.ts'
import type { SharedNetwork } from './shared-network.ts'

export interface SwarmParts extends InstanceParts {
  network: SharedNetwork
}
