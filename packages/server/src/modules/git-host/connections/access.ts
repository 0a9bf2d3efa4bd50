import { setTimeout as pause } from 'node:timers/promises'
import { type Static, Type } from 'typebox'
import type { Access, AccountTokens } from '../../../drivers/git-host/git-host.ts'
import { GitHostError } from '../../../drivers/git-host/git-host-error.ts'
import { sealedJson } from '../../../platform/db/json-columns/json-column.ts'
import { orNull } from '../../../platform/db/json-columns/shapes.ts'
import { sealedFor } from '../../../platform/db/sealed-columns.ts'
import type { GitConnectionRow } from '../../../platform/db/tables/git-host.ts'
import { Failure } from '../../../platform/failure.ts'
import { Secret } from '../../../platform/secrets/secret.ts'
import { hashToken } from '../../../platform/secrets/token.ts'
import { type GitHostDeps, nowOf } from '../deps.ts'
import { tokensFrom } from './by-cloud.ts'
import { claimRefresh, findConnection, putRefreshed } from './connection-store.ts'

/** Tokens of an account, stored sealed as one value. */
const StoredTokens = Type.Object({
  accessToken: Type.String(),
  refreshToken: orNull(Type.String()),
  /** Issued to a cloud's OAuth client, which alone can refresh it. */
  byCloud: Type.Optional(Type.Literal(true)),
})
type StoredTokens = Static<typeof StoredTokens>
const storedTokens = sealedJson('gitConnections.credential', StoredTokens)

const earlyMs = 120_000
const refreshMs = 30_000

/** Current API credential of a connection. Rejects with `unauthorized` when its login was revoked. */
export async function accessOf(row: GitConnectionRow, deps: GitHostDeps): Promise<Access> {
  const { webUrl } = deps.hosts[row.provider]
  if (row.hostUrl !== null && row.hostUrl !== webUrl)
    throw new GitHostError('unauthorized', `The login is for ${row.hostUrl}, but this instance uses ${webUrl}`)
  if (row.source === 'app') return { kind: 'installation', id: row.id, installationId: Number(row.externalId) }
  if (row.source === 'cli') return localAccess(row, deps)
  const isDue = row.credentialExpiresAt !== null && row.credentialExpiresAt - earlyMs < nowOf(deps)
  const current = isDue ? await refreshed(row, deps) : row
  const { accessToken } = openTokens(current, deps)
  return tokenAccess(row, accessToken)
}

export const sealTokens = (
  connectionId: string,
  { accessToken, refreshToken, byCloud }: AccountTokens & { byCloud?: boolean },
  { secretBox }: GitHostDeps,
) => {
  const stored: StoredTokens = {
    accessToken: accessToken.reveal(),
    refreshToken: refreshToken?.reveal() ?? null,
    ...(byCloud ? { byCloud } : {}),
  }
  return secretBox.seal(JSON.stringify(stored), sealedFor.gitCredential(connectionId))
}

export const expiryOf = ({ lifetimeSeconds }: AccountTokens, deps: GitHostDeps): number | null =>
  lifetimeSeconds === null ? null : nowOf(deps) + lifetimeSeconds * 1000

function openTokens({ id, credential }: GitConnectionRow, { secretBox, scrubber }: GitHostDeps) {
  if (credential === null) throw new GitHostError('unauthorized', 'The stored login was deleted')
  const stored = storedTokens(secretBox.open(credential, sealedFor.gitCredential(id)).reveal(), id)
  scrubber.register(stored.accessToken, stored.refreshToken)
  return {
    accessToken: new Secret(stored.accessToken),
    refreshToken: stored.refreshToken === null ? null : new Secret(stored.refreshToken),
    byCloud: stored.byCloud ?? false,
  }
}

/** Access with this machine's `gh` login, only for the set-up organisation, even if the row was imported from another instance. */
async function localAccess(row: GitConnectionRow, { localLogin, people }: GitHostDeps): Promise<Access> {
  const isOperatorsOrganization = await people.isOperatorsOrganization(row.organizationId)
  const token = isOperatorsOrganization ? await localLogin?.token() : null
  if (!token) throw new GitHostError('unauthorized', `gh has no login for ${localLogin?.host ?? 'this host'} on this machine`)
  return tokenAccess(row, token)
}

/** Includes the token's hash in the id: another token is another access, so no cached result is shared. */
const tokenAccess = ({ id }: GitConnectionRow, token: Secret): Access => ({
  kind: 'token',
  id: `${id}:${hashToken(token.reveal()).slice(0, 16)}`,
  token,
})

/** Refreshes the tokens. A refresh token is valid once: one control plane exchanges it, the others wait for the stored result. */
async function refreshed(row: GitConnectionRow, deps: GitHostDeps): Promise<GitConnectionRow> {
  const { db } = deps.database
  const until = nowOf(deps) + refreshMs * 2
  while (nowOf(deps) < until) {
    const claimed = await claimRefresh(db, row.id, row.credential, nowOf(deps), nowOf(deps) + refreshMs)
    if (claimed) return exchange(claimed, deps)
    const current = await currentRow(row.id, deps)
    if (current.credential !== row.credential) return current
    await pause(200)
  }
  throw new GitHostError('timed_out', 'Refreshing the access token timed out. Try again.')
}

async function exchange(row: GitConnectionRow, deps: GitHostDeps): Promise<GitConnectionRow> {
  const { db } = deps.database
  const { refreshToken, byCloud } = openTokens(row, deps)
  try {
    if (!refreshToken) throw new GitHostError('unauthorized', 'The stored login has expired')
    const tokens = byCloud
      ? await renewedByCloud(row, refreshToken, deps)
      : await deps.hosts[row.provider].signIn.refresh(refreshToken, { timeoutMs: refreshMs / 2 })
    const changes = {
      // A host that returns no new refresh token accepts the old one again.
      credential: sealTokens(row.id, { ...tokens, byCloud, refreshToken: tokens.refreshToken ?? refreshToken }, deps),
      credentialExpiresAt: expiryOf(tokens, deps),
      updatedAt: nowOf(deps),
    }
    return (await putRefreshed(db, row, changes)) ? { ...row, ...changes } : await currentRow(row.id, deps)
  } catch (error) {
    await putRefreshed(db, row, {})
    throw error
  }
}

const currentRow = async (id: string, { database }: GitHostDeps): Promise<GitConnectionRow> => {
  const row = await findConnection(database.db, id)
  if (!row) throw new GitHostError('unauthorized', 'The connection was removed')
  return row
}

/**
 * Refreshes through the cloud. Errors are reported as git host errors: for the caller, the host is unreachable or rejects the
 * login.
 */
async function renewedByCloud(
  { organizationId, provider }: GitConnectionRow,
  refreshToken: Secret,
  { cloudLinks }: GitHostDeps,
): Promise<AccountTokens> {
  if (!(await cloudLinks?.isLinked(organizationId)))
    throw new GitHostError('unauthorized', 'The login was made by a cloud that is no longer linked')
  return cloudLinks!
    .refreshHandoff(organizationId, { provider, refreshToken: refreshToken.reveal() })
    .then(tokensFrom)
    .catch((error: unknown) => {
      if (!(error instanceof Failure)) throw error
      throw new GitHostError(error.code === 'no_source' ? 'unauthorized' : 'unreachable', error.message)
    })
}
