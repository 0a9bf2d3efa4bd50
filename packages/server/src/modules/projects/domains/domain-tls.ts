import { sourcesOrSelf, type TlsState, tlsTransitions } from '@berth/contract'
import type { Db } from '../../../platform/db/schema.ts'

/**
 * Changes a domain's `tls`; no other function does. A transition that is not allowed changes nothing. `reason` is shown with
 * it.
 */
export async function transitionTls(
  db: Db,
  domainIds: readonly string[],
  to: TlsState,
  reason: string | null = null,
): Promise<void> {
  if (domainIds.length === 0) return
  await db
    .updateTable('domains')
    .set({ tls: to, reason })
    .where('id', 'in', domainIds)
    .where('tls', 'in', sourcesOrSelf<TlsState>(tlsTransitions, to))
    .execute()
}

/** Records why the state is unchanged. */
export async function explainTls(db: Db, domainId: string, reason: string): Promise<void> {
  await db.updateTable('domains').set({ reason }).where('id', '=', domainId).execute()
}
