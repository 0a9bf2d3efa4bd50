import { retiredPolicyJson } from '../../../platform/db/json-columns/backups.ts'
import type { PolicyRow } from '../../../platform/db/tables/backups.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { findAnyProject, lockProject } from '../../projects/index.ts'
import { type BackupsDeps, nowOf } from '../deps.ts'
import { findDestination } from '../destinations/destination-store.ts'
import * as store from '../policy-store.ts'
import { attachRuns } from '../runs/stored-run-store.ts'
import { reschedule } from './policy-schedule.ts'

/** Stores a policy of a project that is being deleted: a restore of the project creates the policy again. */
export const storeRetiredPolicy = (policy: PolicyRow, { db }: TransactionContext, deps: BackupsDeps) =>
  store.insertRetired(db, {
    id: policy.id,
    organizationId: policy.organizationId,
    projectId: policy.projectId,
    policy: JSON.stringify(policy),
    retiredAt: nowOf(deps),
  })

/** Creates the policies of a deleted project again, with their ids, schedules, webhook tokens and runs. May run twice. */
export const restorePolicies = (projectId: string, deps: BackupsDeps): Promise<void> =>
  deps.database.transaction(async (transaction) => {
    await lockProject(transaction, projectId)
    if (!(await findAnyProject(transaction.db, projectId))) return
    for (const row of await store.listRetired(transaction.db, projectId)) {
      const saved = retiredPolicyJson.policy(row)
      if (!(await findDestination(transaction.db, saved.destinationId))) continue
      const policy = await store.insertPolicy(transaction.db, { ...saved, updatedAt: nowOf(deps) })
      await attachRuns(transaction.db, policy)
      await reschedule(policy, transaction)
      await store.removeRetired(transaction.db, row.id)
    }
  })

/** Ids of policies of a deleted project whose destination no longer exists. */
export const policiesWithoutDestination = (projectId: string, deps: BackupsDeps) => retiredIds(projectId, false, deps)

/** Ids of policies of a deleted project that are restored with it. */
export const restorablePolicies = (projectId: string, deps: BackupsDeps) => retiredIds(projectId, true, deps)

async function retiredIds(projectId: string, hasDestination: boolean, { database: { db } }: BackupsDeps): Promise<string[]> {
  const ids: string[] = []
  for (const row of await store.listRetired(db, projectId)) {
    const destination = await findDestination(db, retiredPolicyJson.policy(row).destinationId)
    if ((destination !== undefined) === hasDestination) ids.push(row.id)
  }
  return ids
}
