import type { ProjectDomain } from '@berth/contract'

/** The actions that a row of the domains page offers. */
export interface DomainActions {
  canBePrimary: boolean
  canRemove: boolean
  /** Shows the DNS records at once, because the user has to create them. */
  showsRecords: boolean
}

type Facts = Pick<ProjectDomain, 'kind' | 'verified' | 'primary' | 'pointsHere' | 'tls'>

export const domainActions = ({ kind, primary, ...facts }: Facts): DomainActions => ({
  canBePrimary: !primary,
  canRemove: kind === 'custom',
  showsRecords: kind === 'custom' && waitsForDns(facts),
})

/** An active certificate proves that requests arrive, even if the domain resolves to the address of a proxy. */
export const waitsForDns = ({ verified, pointsHere, tls }: Omit<Facts, 'kind' | 'primary'>): boolean =>
  !verified || (pointsHere === false && tls !== 'active')

/** The reason to show with a domain. Where its DNS records are shown too, the first sentence is enough. */
export const domainReason = ({ reason, ...domain }: Facts & Pick<ProjectDomain, 'reason'>): string | null =>
  reason !== null && domainActions(domain).showsRecords ? reason.replace(/(?<=\.) .*$/s, '') : reason

/** The part of the reason that warns about records with a loopback address: other machines would reach themselves. Null: none. */
export const loopbackHint = ({ reason }: Pick<ProjectDomain, 'reason'>): string | null =>
  /\S+ is reachable only from this machine\..*/s.exec(reason ?? '')?.[0] ?? null

/** Whether the hint is about this record. */
export const isLoopbackRecord = (value: string, hint: string | null): boolean => hint?.startsWith(`${value} `) ?? false

/** Whether the last check found a DNS record: the TXT record decides `verified`, the others `pointsHere`. */
export const recordStatus = (type: string, { verified, pointsHere }: Pick<ProjectDomain, 'verified' | 'pointsHere'>): string => {
  const isFound = type === 'TXT' ? verified : pointsHere
  return isFound === null ? 'unknown' : isFound ? 'found' : 'missing'
}

/** The status word of a domain: an unverified one waits for DNS, a verified one for its route. */
export const domainStatus = ({ state, verified }: Pick<ProjectDomain, 'state' | 'verified'>): string =>
  state === 'waiting' && !verified ? 'waiting_for_dns' : state
