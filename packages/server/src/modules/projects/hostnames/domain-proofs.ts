import type { DomainRow } from '../../../platform/db/tables/projects.ts'

/** Decides which claim of a host name is served, and what the other claims lack. Pure functions of database rows. */

export const proofLabel = '_berth'

/** The record that proves a claim: only the owner of the DNS zone can create it. */
export const proofRecord = ({ hostname, proofToken }: Pick<DomainRow, 'hostname' | 'proofToken'>) => ({
  type: 'TXT' as const,
  name: `${proofLabel}.${hostname}`,
  value: `berth-verify=${proofToken}`,
})

export interface ProofRules {
  mode: 'self-hosted' | 'cloud'
}

export interface VerifiedDomains {
  serving: DomainRow[]
  /** Claim id to the reason why it is not served and what to do about it. */
  waiting: Map<string, string>
}

/** `claims` are all claims of each host name in question, and the proven claims of its parent names. */
export function verifyDomains(claims: readonly DomainRow[], rules: ProofRules): VerifiedDomains {
  const verdict: VerifiedDomains = { serving: [], waiting: new Map() }
  const owners = new Map(claims.filter(isProven).map(({ hostname, organizationId }) => [hostname, organizationId]))
  for (const rivals of Map.groupBy(claims, ({ hostname }) => hostname).values()) {
    const first = servingClaim(rivals, owners, rules)
    for (const claim of rivals) {
      if (claim === first) verdict.serving.push(claim)
      else verdict.waiting.set(claim.id, missingFor(claim, rivals, owners))
    }
  }
  return verdict
}

const isProven = ({ provenAt }: DomainRow) => provenAt !== null
const byAge = (left: DomainRow, right: DomainRow) => left.createdAt - right.createdAt || (left.id < right.id ? -1 : 1)

/** The proven claim. A self-hosted instance serves the oldest claim when none is proven. */
function servingClaim(rivals: readonly DomainRow[], owners: Owners, { mode }: ProofRules): DomainRow | undefined {
  const proven = rivals.find(isProven)
  if (proven || mode === 'cloud') return proven
  return rivals.filter((claim) => !ownerAbove(claim, owners)).toSorted(byAge)[0]
}

/** Proven host name to the organisation that has proven it. */
type Owners = ReadonlyMap<string, string>

/**
 * The parent name that another organisation has proven. Its wildcard DNS record may resolve here, so an unproven claim below it
 * is not served.
 */
const ownerAbove = ({ hostname, organizationId }: DomainRow, owners: Owners): string | undefined =>
  namesAbove(hostname).find((parent) => owners.has(parent) && owners.get(parent) !== organizationId)

function missingFor(claim: DomainRow, rivals: readonly DomainRow[], owners: Owners): string {
  const { hostname } = claim
  const { name, value } = proofRecord(claim)
  const create = `create the TXT record ${name} with the value ${value}`
  if (rivals.some(isProven))
    return `Another organisation has verified ${hostname}. If it is yours, remove their TXT record and ${create}`
  const above = ownerAbove(claim, owners)
  if (above) return `Another organisation has verified ${above}. To serve ${hostname}, verify it: ${create}`
  if (rivals.length > 1) return `Another organisation has also added ${hostname}. To serve it, verify it: ${create}`
  return `To serve ${hostname}, verify it: ${create}`
}

/** `a.b.example.com` → `b.example.com`, `example.com`, `com`. */
export function namesAbove(hostname: string): string[] {
  const labels = hostname.split('.')
  return labels.slice(1).map((_, at) => labels.slice(at + 1).join('.'))
}

/**
 * The claim that gains the host name according to the TXT records; null where nothing changes. The current holder keeps the
 * name while its record exists.
 */
export function newHolder(claims: readonly DomainRow[], records: readonly string[]): DomainRow | null {
  const stands = (claim: DomainRow) => records.includes(proofRecord(claim).value)
  const holder = claims.find(isProven)
  if (holder && stands(holder)) return null
  const proven = claims.filter((claim) => claim !== holder && stands(claim))
  return proven.toSorted(byAge)[0] ?? null
}
