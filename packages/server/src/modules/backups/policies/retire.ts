import type { PolicyRow } from '../../../platform/db/tables/backups.ts'
import type { Bound } from '../../../platform/transaction.ts'
import { keepAsRetired } from '../runs/kept-run-store.ts'
import { prunePlan } from '../runs/prune-kind.ts'
import { unscheduleAll } from './policy-rhythm.ts'

/** Before a policy goes, with its project or alone: what it said about keeping its runs is kept with them. */
export async function retire(policy: PolicyRow, bound: Bound): Promise<void> {
  await unscheduleAll(policy.id, bound)
  await keepAsRetired(bound.db, policy)
  await prunePlan(policy.projectId, bound)
}
