import type { PolicyRow } from '../../../platform/db/tables/backups.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { keepAsRetired } from '../runs/kept-run-store.ts'
import { prunePlan } from '../runs/prune-kind.ts'
import { unscheduleAll } from './policy-schedule.ts'

/** Called before a policy is deleted, alone or with its project: copies its retention to its runs. */
export async function retire(policy: PolicyRow, bound: TransactionContext): Promise<void> {
  await unscheduleAll(policy.id, bound)
  await keepAsRetired(bound.db, policy)
  await prunePlan(policy.projectId, bound)
}
