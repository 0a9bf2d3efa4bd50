import type { Db } from '../../../platform/db/schema.ts'
import type { DomainRow } from '../../../platform/db/tables/projects.ts'
import { allClaims, claimsOf } from '../store.ts'
import { type ProofRules, parentNames, type VerifiedDomains, verifyDomains } from './domain-proofs.ts'

/** Decides for every host name of the instance which claim is served. */
export const verifyAllDomains = async (db: Db, rules: ProofRules): Promise<VerifiedDomains> =>
  verifyDomains(await allClaims(db), rules)

/** Decides which claim of one host name is served. */
export async function verifyHostname(db: Db, hostname: string, rules: ProofRules): Promise<VerifiedDomains> {
  const { serving, waiting } = verifyDomains(await claimsOf(db, hostname, ...parentNames(hostname)), rules)
  return { serving: serving.filter((claim) => claim.hostname === hostname), waiting }
}

/** The claim that is served at the host name, of any project. */
export const findServingClaim = async (db: Db, hostname: string, rules: ProofRules): Promise<DomainRow | undefined> =>
  (await verifyHostname(db, hostname, rules)).serving[0]
