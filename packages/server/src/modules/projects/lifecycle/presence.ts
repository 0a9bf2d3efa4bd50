import { type Presence, presenceTransitions, sourcesOf } from '@berth/contract'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { removeHookOf } from '../git/transfer-webhook.ts'
import { updateProjectWebhook } from '../hostnames/delivery-address.ts'
import { lockProject } from '../operations/operation.ts'
import { type ProjectSignal, projectsTopic } from '../project-signal.ts'
import { reconcilePresence } from './power.ts'

/**
 * Changes a project's presence; false when the transition is not allowed. A job that commits with it reconciles the running
 * workload, also if this process dies.
 */
export async function changePresence(
  projectId: string,
  to: Presence,
  transaction: TransactionContext,
  deps: Pick<ProjectsDeps, 'clock'>,
): Promise<boolean> {
  await lockProject(transaction, projectId)
  const changed = await transaction.db
    .updateTable('projects')
    .set({ presence: to, updatedAt: nowOf(deps) })
    .where('id', '=', projectId)
    .where('presence', 'in', sourcesOf<Presence>(presenceTransitions, to))
    .where('deletingSince', 'is', null)
    .returningAll()
    .executeTakeFirst()
  if (!changed) return false
  if (changed.webhookDomain !== null) await updateProjectWebhook(changed, transaction)
  if (to === 'departed') await removeHookOf(changed, transaction)
  if (to !== 'arriving' && to !== 'landing') await reconcilePresence(projectId, to, transaction)
  transaction.signal(projectsTopic, { projectId } satisfies ProjectSignal)
  return true
}
