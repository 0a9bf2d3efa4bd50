import type { PolicyRow } from '../../../platform/db/tables/backups.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { enqueuePrune } from '../runs/prune-kind.ts'
import { copyRetentionToRuns } from '../runs/stored-run-store.ts'
import { unscheduleAll } from './policy-schedule.ts'

/** Called before a policy is deleted, alone or with its project: copies its retention to its runs. */
export async function retirePolicy(policy: PolicyRow, transaction: TransactionContext): Promise<void> {
  await unscheduleAll(policy.id, transaction)
  await copyRetentionToRuns(transaction.db, policy)
  await enqueuePrune(policy.projectId, transaction)
}
