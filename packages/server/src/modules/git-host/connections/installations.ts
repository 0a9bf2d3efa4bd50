import type { GitHostProvider } from '@berth/contract'
import type { GitConnectionRow } from '../../../platform/db/tables/git-host.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { type GitHostDeps, nowOf } from '../deps.ts'
import { hostTitles } from '../hosts/host-titles.ts'
import { deleteInstallation, setInstallationError } from './connection-store.ts'

export interface DroppedInstallation {
  organizationId: string
  account: string
}

/** Handles an uninstalled app: deletes its connections and notifies the organisations. Projects stay. */
export function dropInstallation(
  provider: GitHostProvider,
  installationId: number,
  { database }: GitHostDeps,
): Promise<DroppedInstallation[]> {
  return database.transaction(async (transaction) => {
    const rows = await deleteInstallation(transaction.db, provider, installationId)
    for (const row of rows) await announceDisconnected(transaction, row, 'its app was uninstalled there')
    return rows.map(({ organizationId, accountLogin }) => ({ organizationId, account: accountLogin }))
  })
}

/** Suspends an installation, which stays stored but unused, or resumes it. */
export function markInstallation(
  provider: GitHostProvider,
  installationId: number,
  state: 'suspended' | 'resumed',
  deps: GitHostDeps,
): Promise<void> {
  return deps.database.transaction(async (transaction) => {
    const problem = state === 'suspended' ? 'The app is suspended at the git host. Resume it there.' : null
    const rows = await setInstallationError(transaction.db, provider, installationId, problem, nowOf(deps))
    for (const row of rows) {
      if (problem) await announceDisconnected(transaction, row, 'its app was suspended there')
      else await deps.onConnected?.(row.organizationId, provider, transaction)
    }
  })
}

/** Notifies the organisation that a connection has ended: pushes no longer arrive, and a user has to connect it again. */
export function announceDisconnected(
  { announce }: Pick<TransactionContext, 'announce'>,
  row: GitConnectionRow,
  reason: string,
): Promise<void> {
  const title = hostTitles[row.provider]
  return announce('git.disconnected', {
    organizationId: row.organizationId,
    subject: `${title} is disconnected: ${row.accountLogin}`,
    text: `The connection to ${row.accountLogin} at ${title} has ended: ${reason}. Projects stay as they are, but pushes to its repositories are no longer deployed. Connect it again under Git.`,
    data: { provider: row.provider, source: row.source, account: row.accountLogin },
  })
}
