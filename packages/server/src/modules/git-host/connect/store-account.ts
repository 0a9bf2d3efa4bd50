import type { GitHostProvider } from '@berth/contract'
import type { AccountTokens, HostAccount, Installation } from '../../../drivers/git-host/git-host.ts'
import { newId } from '../../../platform/db/ids.ts'
import { expiryOf, sealTokens } from '../connections/access.ts'
import { findAccountConnection, putConnection } from '../connections/connection-store.ts'
import { type GitHostDeps, nowOf } from '../deps.ts'

/** The organisation of the new connection, and the user who created it. */
export interface Owner {
  organizationId: string
  userId: string
  provider: GitHostProvider
}

export const accountColumns = ({ id, login, type, avatarUrl }: HostAccount) => ({
  accountId: id,
  accountLogin: login,
  accountType: type,
  avatarUrl,
})

/** Stores an account connection. An organisation has one per host: a new one replaces it. */
export async function storeAccount(
  { organizationId, userId, provider }: Owner,
  tokens: AccountTokens & { byCloud?: boolean },
  account: HostAccount,
  deps: GitHostDeps,
): Promise<void> {
  deps.scrubber.register(tokens.accessToken, tokens.refreshToken)
  await deps.database.transaction(async (transaction) => {
    const { db, lock } = transaction
    await lock(`git-account:${organizationId}`)
    const now = nowOf(deps)
    // The tokens are sealed for the row's id, which is the id of the existing row if there is one.
    const id = (await findAccountConnection(db, organizationId, provider))?.id ?? newId('gcn')
    await putConnection(db, {
      ...{ id, organizationId, provider, source: 'oauth', externalId: '', ...accountColumns(account) },
      credential: sealTokens(id, tokens, deps),
      credentialExpiresAt: expiryOf(tokens, deps),
      hostUrl: deps.hosts[provider].webUrl,
      ...{ refreshingUntil: null, trouble: null, createdBy: userId, createdAt: now, updatedAt: now },
    })
    await deps.onConnected?.(organizationId, provider, transaction)
  })
}

export async function storeInstallation(
  { organizationId, userId, provider }: Owner,
  installation: Installation,
  deps: GitHostDeps,
): Promise<void> {
  const now = nowOf(deps)
  await deps.database.transaction(async (transaction) => {
    await putConnection(transaction.db, {
      ...{ id: newId('gcn'), organizationId, provider, source: 'app', externalId: String(installation.id) },
      ...accountColumns(installation.account),
      ...{ credential: null, credentialExpiresAt: null, refreshingUntil: null, hostUrl: deps.hosts[provider].webUrl },
      trouble: installation.suspended ? 'The app is suspended at the git host. Resume it there.' : null,
      ...{ createdBy: userId, createdAt: now, updatedAt: now },
    })
    await deps.onConnected?.(organizationId, provider, transaction)
  })
}
