import type { GitAccount, GitHostHome, GitHostProvider, GitHostSources, GitHostStatus } from '@berth/contract'
import { hasPermission } from '@berth/contract'
import type { Caller } from '../../http/handler.ts'
import type { GitConnectionRow } from '../../platform/db/tables/git-host.ts'
import { type Browser, newState } from './connect/state.ts'
import { listConnections } from './connections/connection-store.ts'
import type { GitHostDeps } from './deps.ts'
import { listRepositories } from './repositories/lists.ts'

const ofProvider = (rows: readonly GitConnectionRow[], provider: GitHostProvider | undefined) =>
  provider ? rows.filter((row) => row.provider === provider) : rows

export const sourcesOf = (rows: readonly GitConnectionRow[]): GitHostSources => {
  const has = (source: GitConnectionRow['source']) => rows.some((row) => row.source === source && row.trouble === null)
  return { app: has('app'), oauth: has('oauth'), cli: has('cli') }
}

/** `error`: connected before, but the host accepts none of the connections any more. */
export const stateOf = (rows: readonly GitConnectionRow[]): GitHostStatus['state'] =>
  rows.length === 0 ? 'disconnected' : rows.some(({ trouble }) => trouble === null) ? 'connected' : 'error'

export const accountsOf = (rows: readonly GitConnectionRow[]): GitAccount[] =>
  rows.map(({ accountLogin, accountId, accountType, avatarUrl, source }) => ({
    login: accountLogin,
    id: accountId,
    type: accountType,
    avatarUrl,
    source,
  }))

export async function showStatus(
  caller: Caller,
  browser: Browser,
  provider: GitHostProvider | undefined,
  deps: GitHostDeps,
): Promise<GitHostStatus> {
  const rows = ofProvider(await listConnections(deps.database.db, caller.organizationId), provider)
  const common = { state: stateOf(rows), sources: sourcesOf(rows), accounts: accountsOf(rows) }
  try {
    const installUrl = await installUrlFor(caller, browser, provider ?? 'github', deps)
    return { ...common, installUrl, cloudUnreachable: false }
  } catch (error) {
    deps.log.info({ err: error }, 'git-host: install link not available')
    return { ...common, installUrl: null, cloudUnreachable: !deps.hosts[provider ?? 'github'].app }
  }
}

/** The signed state is only for callers who may connect: returning with it connects the installation. */
async function installUrlFor(caller: Caller, browser: Browser, provider: GitHostProvider, deps: GitHostDeps) {
  const { organizationId } = caller
  const { app } = deps.hosts[provider]
  const mayConnect = hasPermission(caller, 'gitprovider:write')
  if (!app) {
    const link = (await deps.cloudLinks?.isLinked(organizationId)) ? await deps.cloudLinks!.installUrl(organizationId) : null
    return mayConnect || link === null ? link : withoutState(link)
  }
  const url = new URL(await app.installUrl({ timeoutMs: 3_000 }))
  if (mayConnect) url.searchParams.set('state', newState({ caller, browser, provider, source: 'app' }, deps))
  return url.href
}

function withoutState(link: string): string | null {
  const url = URL.parse(link)
  url?.searchParams.delete('state')
  return url?.href ?? null
}

/** An unreachable host is no failure: the state is then `error`, with the known accounts. */
export async function showHome(caller: Caller, provider: GitHostProvider | undefined, deps: GitHostDeps): Promise<GitHostHome> {
  const rows = ofProvider(await listConnections(deps.database.db, caller.organizationId), provider)
  const common = { state: stateOf(rows), accounts: accountsOf(rows) }
  if (common.state !== 'connected') return { ...common, repos: [] }
  try {
    return { ...common, repos: (await listRepositories(caller, provider ? { provider } : {}, deps)).data }
  } catch (error) {
    deps.log.info({ err: error, organizationId: caller.organizationId }, 'git-host: listing repositories failed')
    return { ...common, state: 'error', repos: [] }
  }
}
