import type { GitHostProvider } from '@berth/contract'
import type { Access, GitHost } from '../../../drivers/git-host/git-host.ts'
import { GitHostError, type GitHostErrorKind } from '../../../drivers/git-host/git-host-error.ts'
import type { GitConnectionRow } from '../../../platform/db/tables/git-host.ts'
import { fail } from '../../../platform/failure.ts'
import { type GitHostDeps, nowOf } from '../deps.ts'
import { hostTitles } from '../hosts/host-titles.ts'
import { accessOf } from './access.ts'
import { listConnections, setConnectionError } from './connection-store.ts'
import { announceDisconnected, dropInstallation } from './installations.ts'

export type ThroughSource<Result> = (access: Access, host: GitHost, row: GitConnectionRow) => Promise<Result>

const order: readonly GitConnectionRow['source'][] = ['app', 'oauth', 'cli']
const rank = ({ source }: GitConnectionRow) => order.indexOf(source)

/** Usable connections of one host, apps first; without a provider, of the host that was connected first. */
export async function usableSources(
  organizationId: string,
  provider: GitHostProvider | undefined,
  deps: GitHostDeps,
): Promise<GitConnectionRow[]> {
  const rows = await listConnections(deps.database.db, organizationId)
  const chosen = provider ?? rows.find(({ trouble }) => trouble === null)?.provider
  const usableRows = rows.filter((row) => row.provider === chosen && row.trouble === null)
  return usableRows.sort((one, other) => rank(one) - rank(other))
}

/** Connections that may have access to a repository of the owner. An app has access only to the account where it is installed. */
export const sourcesFor = (rows: readonly GitConnectionRow[], owner: string): GitConnectionRow[] =>
  rows.filter(({ source, accountLogin }) => source !== 'app' || accountLogin.toLowerCase() === owner.toLowerCase())

/** Runs the work with each connection until one succeeds. An error of denied access continues with the next connection. */
export async function throughSources<Result>(
  rows: readonly GitConnectionRow[],
  deps: GitHostDeps,
  work: ThroughSource<Result>,
): Promise<Result> {
  if (rows.length === 0) fail('no_source')
  const errors: GitHostError[] = []
  for (const row of rows) {
    try {
      return await throughSource(row, deps, work)
    } catch (error) {
      if (!(error instanceof GitHostError) || !accessErrors.has(error.errorKind)) throw error
      errors.push(error)
    }
  }
  throw bestError(errors)
}

/** Runs the work with one connection. A login that the host has revoked is marked and not used again. */
export async function throughSource<Result>(
  row: GitConnectionRow,
  deps: GitHostDeps,
  work: ThroughSource<Result>,
): Promise<Result> {
  try {
    return await work(await accessOf(row, deps), deps.hosts[row.provider], row)
  } catch (error) {
    if (error instanceof GitHostError && error.errorKind === 'unauthorized') await markRevoked(row, error, deps)
    throw error
  }
}

/** Errors after which another connection may have access. */
const accessErrors: ReadonlySet<GitHostErrorKind> = new Set(['unauthorized', 'forbidden', 'not_found', 'limited'])

/** The most helpful error for the user comes first. */
const reportOrder: readonly GitHostErrorKind[] = ['limited', 'forbidden', 'not_found', 'unauthorized']
const bestError = (errors: readonly GitHostError[]): GitHostError =>
  errors.toSorted((one, other) => reportOrder.indexOf(one.errorKind) - reportOrder.indexOf(other.errorKind))[0]!

/** Picks the error to report when several sources failed: errors that the host did not cause come first. */
export const bestErrorOf = (errors: readonly unknown[]): unknown => {
  const hostErrors = errors.filter((error) => error instanceof GitHostError)
  return errors.find((error) => !(error instanceof GitHostError) || !accessErrors.has(error.errorKind)) ?? bestError(hostErrors)
}

async function markRevoked(row: GitConnectionRow, { message }: GitHostError, deps: GitHostDeps): Promise<void> {
  // An app's tokens are created for each use: if one is rejected, the instance's own key is wrong, not this installation.
  if (row.source === 'app') return
  await deps.database.transaction(async (transaction) => {
    if (await setConnectionError(transaction.db, row, message, nowOf(deps)))
      await announceDisconnected(transaction, row, `${hostTitles[row.provider]} no longer accepts its login`)
  })
  deps.log.warn({ organizationId: row.organizationId, provider: row.provider, source: row.source }, 'git-host: login revoked')
}

/** Drops the connection if its installation no longer exists. A failed listing alone is not proof, so the app itself is queried. */
export async function dropIfGone(row: GitConnectionRow, error: unknown, deps: GitHostDeps): Promise<boolean> {
  if (row.source !== 'app' || !(error instanceof GitHostError) || error.errorKind !== 'not_found') return false
  const id = Number(row.externalId)
  if ((await deps.hosts[row.provider].app?.hasInstallation(id)) !== false) return false
  await dropInstallation(row.provider, id, deps)
  return true
}
