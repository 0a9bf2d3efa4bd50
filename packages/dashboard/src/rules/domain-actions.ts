import type { ProjectDomain } from '@berth/contract'

/** The actions that a row of the domains page offers. */
export interface DomainActions {
  canVerify: boolean
  canBePrimary: boolean
  canRemove: boolean
  /** Shows the DNS records at once, because the user has to create them. */
  showsRecords: boolean
}

export const domainActions = ({
  kind,
  verified,
  primary,
}: Pick<ProjectDomain, 'kind' | 'verified' | 'primary'>): DomainActions => ({
  canVerify: !verified,
  canBePrimary: !primary,
  canRemove: kind === 'custom',
  showsRecords: kind === 'custom' && !verified,
})

/** The status word of a domain: an unverified one waits for DNS, a verified one for its route. */
export const domainStatus = ({ state, verified }: Pick<ProjectDomain, 'state' | 'verified'>): string =>
  state === 'waiting' && !verified ? 'waiting_for_dns' : state
