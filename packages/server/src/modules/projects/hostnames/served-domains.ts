import type { Db } from '../../../platform/db/schema.ts'
import type { DomainRow } from '../../../platform/db/tables/projects.ts'
import { allClaims, claimsOf } from '../store.ts'
import { type JudgedDomains, judgeDomains, namesAbove, type ProofRules } from './domain-proofs.ts'

/** Decides all claims of the instance. */
export const judgeAll = async (db: Db, rules: ProofRules): Promise<JudgedDomains> => judgeDomains(await allClaims(db), rules)

/** Decides the claims of one host name. */
export async function judgeName(db: Db, hostname: string, rules: ProofRules): Promise<JudgedDomains> {
  const { serving, waiting } = judgeDomains(await claimsOf(db, hostname, ...namesAbove(hostname)), rules)
  return { serving: serving.filter((claim) => claim.hostname === hostname), waiting }
}

/** The claim that is served at the host name, of any project. */
export const servingAt = async (db: Db, hostname: string, rules: ProofRules): Promise<DomainRow | undefined> =>
  (await judgeName(db, hostname, rules)).serving[0]
