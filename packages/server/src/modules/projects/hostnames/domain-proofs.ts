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
  const result: VerifiedDomains = { serving: [], waiting: new Map() }
  const owners = new Map(claims.filter(isProven).map(({ hostname, organizationId }) => [hostname, organizationId]))
  for (const sameNameClaims of Map.groupBy(claims, ({ hostname }) => hostname).values()) {
    const serving = servingClaim(sameNameClaims, owners, rules)
    for (const claim of sameNameClaims) {
      if (claim === serving) result.serving.push(claim)
      else result.waiting.set(claim.id, missingProofMessage(claim, sameNameClaims, owners))
    }
  }
  return result
}

const isProven = ({ provenAt }: DomainRow) => provenAt !== null
const byAge = (left: DomainRow, right: DomainRow) => left.createdAt - right.createdAt || (left.id < right.id ? -1 : 1)

/** The proven claim. A self-hosted instance serves the oldest claim when none is proven. */
function servingClaim(sameNameClaims: readonly DomainRow[], owners: Owners, { mode }: ProofRules): DomainRow | undefined {
  const proven = sameNameClaims.find(isProven)
  if (proven || mode === 'cloud') return proven
  return sameNameClaims.filter((claim) => !foreignParent(claim, owners)).toSorted(byAge)[0]
}

/** Proven host name to the organisation that has proven it. */
type Owners = ReadonlyMap<string, string>

/**
 * The parent name that another organisation has proven. Its wildcard DNS record may resolve here, so an unproven claim below it
 * is not served.
 */
const foreignParent = ({ hostname, organizationId }: DomainRow, owners: Owners): string | undefined =>
  parentNames(hostname).find((parent) => owners.has(parent) && owners.get(parent) !== organizationId)

function missingProofMessage(claim: DomainRow, sameNameClaims: readonly DomainRow[], owners: Owners): string {
  const { hostname } = claim
  const { name, value } = proofRecord(claim)
  const create = `create the TXT record ${name} with the value ${value}`
  if (sameNameClaims.some(isProven))
    return `Another organisation has verified ${hostname}. If it is yours, remove their TXT record and ${create}`
  const parentName = foreignParent(claim, owners)
  if (parentName) return `Another organisation has verified ${parentName}. To serve ${hostname}, verify it: ${create}`
  if (sameNameClaims.length > 1) return `Another organisation has also added ${hostname}. To serve it, verify it: ${create}`
  return `To serve ${hostname}, verify it: ${create}`
}

/** `a.b.example.com` → `b.example.com`, `example.com`, `com`. */
export function parentNames(hostname: string): string[] {
  const labels = hostname.split('.')
  return labels.slice(1).map((_, index) => labels.slice(index + 1).join('.'))
}

/**
 * The claim that gains the host name according to the TXT records; null where nothing changes. The current holder keeps the
 * name while its record exists.
 */
export function newHolder(claims: readonly DomainRow[], records: readonly string[]): DomainRow | null {
  const hasRecord = (claim: DomainRow) => records.includes(proofRecord(claim).value)
  const holder = claims.find(isProven)
  if (holder && hasRecord(holder)) return null
  const proven = claims.filter((claim) => claim !== holder && hasRecord(claim))
  return proven.toSorted(byAge)[0] ?? null
}
