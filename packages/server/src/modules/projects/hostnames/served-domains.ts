import type { Db } from '../../../platform/db/schema.ts'
import type { DomainRow } from '../../../platform/db/tables/projects.ts'
import { allClaims, claimsOf } from '../store.ts'
import { namesAbove, type ProofRules, type VerifiedDomains, verifyDomains } from './domain-proofs.ts'

/** Decides all claims of the instance. */
export const validateAll = async (db: Db, rules: ProofRules): Promise<VerifiedDomains> =>
  verifyDomains(await allClaims(db), rules)

/** Decides the claims of one host name. */
export async function validateName(db: Db, hostname: string, rules: ProofRules): Promise<VerifiedDomains> {
  const { serving, waiting } = verifyDomains(await claimsOf(db, hostname, ...namesAbove(hostname)), rules)
  return { serving: serving.filter((claim) => claim.hostname === hostname), waiting }
}

/** The claim that is served at the host name, of any project. */
export const servingAt = async (db: Db, hostname: string, rules: ProofRules): Promise<DomainRow | undefined> =>
  (await validateName(db, hostname, rules)).serving[0]
