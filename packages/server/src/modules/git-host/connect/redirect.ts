import type { RedirectQuery } from '@berth/contract'
import type { AccountTokens } from '../../../drivers/git-host/git-host.ts'
import type { RequestContext } from '../../../http/handler.ts'
import { Failure } from '../../../platform/failure.ts'
import { withApiFailures } from '../api-failures.ts'
import { tokensFrom, verifierOf } from '../connections/by-cloud.ts'
import type { GitHostDeps } from '../deps.ts'
import { hostTitles } from '../hosts/host-titles.ts'
import { consentCookie, type PendingAnswer, readConsentCookie } from './consent-cookie.ts'
import { handOver } from './handoff.ts'
import { ConnectFailed, consentPage, showFailure } from './pages.ts'
import { redirectUri } from './redirect-uri.ts'
import { type ConnectFlow, consumeState, stateOf } from './state.ts'
import { storeAccount, storeInstallation } from './store-account.ts'
import { isThisMachine } from './this-machine.ts'

type Context = Pick<RequestContext, 'isSignedIn' | 'caller' | 'headers' | 'ip' | 'secure' | 'setHeader' | 'redirect' | 'page'>

/** Handles the browser's return from the git host. The result is always one of our own pages: no URL from the query is followed. */
export async function finishConnect(query: RedirectQuery, context: Context, deps: GitHostDeps): Promise<void> {
  try {
    await finish(query, context, deps)
  } catch (error) {
    showFailure(error, context)
    deps.log.info({ err: error }, 'git-host: connecting an account failed')
  }
}

async function finish(query: RedirectQuery, context: Context, deps: GitHostDeps): Promise<void> {
  const flow = query.state ? await consumeState(query.state, deps) : null
  if (!flow)
    throw new ConnectFailed(
      'expired',
      'The link is older than ten minutes, was already used, or belongs to another instance. Connect again from Berth.',
    )
  if (query.error) throw new ConnectFailed('denied', `The git host says: ${query.error_description ?? query.error}`, 'error')
  const answer = answerOf(query, flow, context, deps)
  if (!isStarter(flow, context, deps) && !flow.isConfirmed) return confirm(flow, answer, context, deps)
  if (!(await deps.people.holdsNow('gitprovider:write', flow)))
    throw new ConnectFailed(
      'forbidden',
      'The user or token that started this cannot connect a git host for the organisation. The permission gitprovider:write is required.',
    )
  if (flow.handoff) return context.redirect(handOver(flow, codeOf(answer), deps))
  const onward = flow.source === 'app' ? await connectApp(flow, answer, query, deps) : await connectAccount(flow, answer, deps)
  context.redirect(onward ?? `/git?connected=${flow.provider}`)
}

function answerOf(query: RedirectQuery, flow: ConnectFlow, { headers }: Context, deps: GitHostDeps): PendingAnswer {
  if (flow.isConfirmed) {
    const consent = readConsentCookie(headers.cookie as string | undefined, query.state!, deps)
    if (!consent) throw new ConnectFailed('other_user', 'This login was started in another browser. Connect again from Berth.')
    return consent
  }
  const installationId = query.installation_id
  if (installationId !== undefined && !/^\d{1,15}$/.test(installationId))
    throw new ConnectFailed('incomplete', 'installation_id: must be a number', 'installation_id')
  return { code: query.code ?? null, installationId: flow.installationId ?? (installationId ? Number(installationId) : null) }
}

/**
 * Whether the browser belongs to the user who started the flow: it has the same session, or is signed in as the same user. A
 * browser that is signed in as another user is rejected, because the link would connect that user's account. A browser that is
 * not signed in is unknown.
 */
function isStarter(flow: ConnectFlow, context: Context, deps: GitHostDeps): boolean {
  const { sessionId, userId, fromThisMachine } = flow
  const caller = context.isSignedIn ? context.caller : null
  // The login goes to another instance, so every user must consent.
  if (flow.handoff) return false
  if (caller ? caller.userId !== userId : sessionId !== null)
    throw new ConnectFailed(
      'other_user',
      'This login was started by another user or in another browser. Connect again from Berth.',
    )
  return caller !== null || (fromThisMachine && isThisMachine(context, deps.publicUrl()))
}

async function confirm(flow: ConnectFlow, answer: PendingAnswer, context: Context, deps: GitHostDeps): Promise<void> {
  const state = stateOf({ ...flow, isConfirmed: true }, deps)
  context.setHeader('set-cookie', consentCookie(answer, state, context.secure, deps))
  const organization = (await deps.people.nameOf(flow.organizationId)) ?? ''
  const instance = flow.handoff?.returnTo ?? null
  context.page(consentPage({ host: hostTitles[flow.provider], organization, instance, state }))
}

const codeOf = ({ code }: PendingAnswer): string =>
  code ?? raise(new ConnectFailed('incomplete', 'The git host sent no code', 'code'))

async function connectAccount(flow: ConnectFlow, answer: PendingAnswer, deps: GitHostDeps): Promise<undefined> {
  const host = deps.hosts[flow.provider]
  const code = codeOf(answer)
  const exchanged = flow.byCloud ? collected(flow, code, deps) : host.signIn.code?.exchange(code, redirectUri(deps))
  const tokens = await withApiFailures(exchanged ?? raise(new ConnectFailed('incomplete', 'The git host sent no code', 'code')))
  deps.scrubber.register(tokens.accessToken, tokens.refreshToken)
  const account = await withApiFailures(host.account({ kind: 'token', id: `new ${flow.userId}`, token: tokens.accessToken }))
  await storeAccount(flow, { ...tokens, byCloud: flow.byCloud !== null }, account, deps)
}

/** Collects the login from the cloud, through the link with which the flow started. */
async function collected({ organizationId, byCloud }: ConnectFlow, code: string, deps: GitHostDeps): Promise<AccountTokens> {
  if ((await deps.cloudLinks?.linkOf(organizationId)) !== byCloud!.link)
    throw new ConnectFailed('expired', 'The cloud link has changed. Connect again from Berth.')
  const verifier = verifierOf(byCloud!.nonce, deps)
  const tokens = await deps.cloudLinks!.collectHandoff(organizationId, { code, verifier }).catch((error: unknown) => {
    throw error instanceof Failure && error.code === 'no_source' ? new ConnectFailed('rejected', error.message, 'code') : error
  })
  return tokensFrom(tokens)
}

function raise(error: Error): never {
  throw error
}

/**
 * Connects an app installation. An attacker can put any installation id into the URL. So the user must also sign in and administer
 * the account of the installation. Operators need not: they hold the app's key, which opens every installation.
 */
async function connectApp(
  flow: ConnectFlow,
  answer: PendingAnswer,
  query: RedirectQuery,
  deps: GitHostDeps,
): Promise<string | undefined> {
  const { app, signIn } = deps.hosts[flow.provider]
  const { code, installationId } = answer
  if (query.setup_action === 'request')
    throw new ConnectFailed(
      'waiting_for_owner',
      'An owner of the account must approve the app first. Then connect again.',
      'setup_action',
    )
  if (!app || installationId === null)
    throw new ConnectFailed('incomplete', 'The git host sent no installation id', 'installation_id')
  const needsNoSignIn = code === null && (await isStartedByOperator(flow, deps))
  if (!needsNoSignIn && !signIn.code)
    throw new ConnectFailed('forbidden', 'Only operators can connect an app that has no OAuth client')
  if (!needsNoSignIn && code === null) return signIn.code!.url(stateOf({ ...flow, installationId }, deps), redirectUri(deps))
  const installation = await withApiFailures(app.installation(installationId))
  if (code !== null && signIn.code) {
    const { accessToken } = await withApiFailures(signIn.code.exchange(code, redirectUri(deps)))
    deps.scrubber.register(accessToken)
    if (!(await withApiFailures(app.isAdministeredBy(accessToken, installation))))
      throw new ConnectFailed(
        'not_owner',
        `Only an owner of ${installation.account.login} can connect it. Ask an owner to do it.`,
      )
  }
  await storeInstallation(flow, installation, deps)
  return undefined
}

async function isStartedByOperator({ userId, organizationId }: ConnectFlow, { people }: GitHostDeps): Promise<boolean> {
  const role = await people.roleOf(userId, organizationId)
  return (role === 'owner' || role === 'admin') && people.isOperatorsOrganization(organizationId)
}
