import type { ConnectBody, ConnectReply, GitHostProvider } from '@berth/contract'
import type { Caller } from '../../../http/handler.ts'
import { newId } from '../../../platform/db/ids.ts'
import { Failure, fail } from '../../../platform/failure.ts'
import { withApiFailures } from '../api-failures.ts'
import { challengeOf, newNonce, verifierOf } from '../connections/by-cloud.ts'
import { listConnections, putConnection } from '../connections/connection-store.ts'
import { type GitHostDeps, nowOf } from '../deps.ts'
import { hostTitles } from '../hosts/host-titles.ts'
import { startDeviceLogin } from './device-login.ts'
import { redirectUri } from './redirect-uri.ts'
import { type Browser, newState } from './state.ts'
import { accountColumns } from './store-account.ts'

export interface RequestOptions {
  caller: Caller
  browser: Browser
  provider: GitHostProvider
}

/** The next step toward a connection. If the caller names no source, the instance's configuration decides. */
export async function connect(request: RequestOptions, { source }: ConnectBody, deps: GitHostDeps): Promise<ConnectReply> {
  const { caller, provider } = request
  const rows = await listConnections(deps.database.db, caller.organizationId)
  const working = rows.filter((row) => row.provider === provider && row.trouble === null)
  if (working.some((row) => source === undefined || row.source === source)) return { connected: true }
  if (source === 'cli') return connectLocalLogin(request, deps)
  const host = deps.hosts[provider]
  if (source === undefined && host.app) return withApiFailures(installFlow(request, deps))
  if (host.signIn.code) return redirectFlow(request, deps)
  if (host.signIn.device && deps.mode === 'self-hosted') return withApiFailures(startDeviceLogin(request, deps))
  if (await deps.cloudLinks?.isLinked(caller.organizationId))
    return cloudFlow(request, source === undefined ? 'app' : 'oauth', deps)
  if (source === undefined && (await mayUseLocalLogin(request, deps))) return connectLocalLogin(request, deps)
  return fail('no_source', { message: notSetUp(provider) })
}

/** The git host to use when the caller names none: the first one that is configured. */
export function defaultProvider({ hosts }: GitHostDeps): GitHostProvider {
  const isSetUp = ({ app, signIn }: (typeof hosts)[GitHostProvider]) =>
    app !== null || signIn.code !== null || signIn.device !== null
  return (['github', 'gitlab', 'gitea'] as const).find((provider) => isSetUp(hosts[provider])) ?? 'github'
}

const notSetUp = (provider: GitHostProvider): string =>
  `${hostTitles[provider]} is not configured on this instance. Ask its operator to set it up under Git in the dashboard, or with BERTH_${provider.toUpperCase()}_CLIENT_ID.`

async function installFlow(request: RequestOptions, deps: GitHostDeps): Promise<ConnectReply> {
  const url = new URL(await deps.hosts[request.provider].app!.installUrl())
  url.searchParams.set('state', newState({ ...request, source: 'app' }, deps))
  return { connected: false, flow: 'redirect', url: url.href }
}

function redirectFlow(request: RequestOptions, deps: GitHostDeps): ConnectReply {
  const state = newState({ ...request, source: 'oauth' }, deps)
  return { connected: false, flow: 'redirect', url: deps.hosts[request.provider].signIn.code!.url(state, redirectUri(deps)) }
}

async function cloudFlow(request: RequestOptions, source: 'app' | 'oauth', deps: GitHostDeps): Promise<ConnectReply> {
  const { provider, caller } = request
  const { organizationId } = caller
  const url = await handoffUrl(request, deps)
    .then((found) => found ?? deps.cloudLinks!.connectUrl({ organizationId, provider, source }))
    .catch((cause: unknown) => {
      throw cause instanceof Failure ? cause : new Failure('cloud_unreachable', { cause })
    })
  return { connected: false, flow: 'redirect', url }
}

/**
 * The sign-in URL of the cloud's OAuth client; the resulting login is handed to this instance. Null: the cloud has no client for
 * this host.
 */
async function handoffUrl(request: RequestOptions, deps: GitHostDeps): Promise<string | null> {
  const { organizationId } = request.caller
  const link = await deps.cloudLinks!.linkOf(organizationId)
  if (link === null) return null
  const nonce = newNonce()
  const state = newState({ ...request, source: 'oauth', byCloud: { link, nonce } }, deps)
  const challenge = challengeOf(verifierOf(nonce, deps))
  const returnTo = new URL(deps.publicUrl()).origin
  return deps.cloudLinks!.startHandoff({ organizationId, provider: request.provider, returnTo, state, challenge })
}

async function mayUseLocalLogin({ caller, provider }: RequestOptions, { people, localLogin }: GitHostDeps): Promise<boolean> {
  if (provider !== 'github' || !localLogin) return false
  return (await people.isOperator(caller)) && (await people.isOperatorsOrganization(caller.organizationId))
}

/** Connects with this machine's `gh` login. It belongs to the operators, so only the set-up organisation may use it. */
async function connectLocalLogin({ caller, provider }: RequestOptions, deps: GitHostDeps): Promise<ConnectReply> {
  const { localLogin, people } = deps
  if (!localLogin || provider !== 'github')
    return fail('no_source', {
      message: 'This instance cannot use a command-line login. Connect with another source.',
      field: 'source',
    })
  if (!(await people.isOperatorsOrganization(caller.organizationId)))
    fail('forbidden', { message: 'Only the organisation created at set-up can use the login of this machine', field: 'source' })
  const token = await localLogin.token().catch(() => null)
  if (!token) {
    const message = 'Run this on the machine of the instance, as the user that runs Berth, then connect again'
    return { connected: false, flow: 'terminal', command: localLogin.command, message }
  }
  deps.scrubber.register(token)
  const account = await withApiFailures(deps.hosts.github.account({ kind: 'token', id: `local ${newId('gcn')}`, token }))
  const now = nowOf(deps)
  await deps.database.transaction(async (transaction) => {
    await putConnection(transaction.db, {
      ...{ id: newId('gcn'), organizationId: caller.organizationId, provider, source: 'cli', externalId: '' },
      ...accountColumns(account),
      ...{ credential: null, credentialExpiresAt: null, refreshingUntil: null, trouble: null },
      hostUrl: deps.hosts.github.webUrl,
      ...{ createdBy: caller.userId, createdAt: now, updatedAt: now },
    })
    await deps.onConnected?.(caller.organizationId, provider, transaction)
  })
  return { connected: true }
}
