import { randomBytes } from 'node:crypto'
import { type AppManifest, type ConversionBody, type ConvertedApp, limits, type ManifestBody } from '@berth/contract'
import { GitHostError } from '../../../drivers/git-host/git-host-error.ts'
import type { Caller } from '../../../http/handler.ts'
import { iso } from '../../../platform/db/columns.ts'
import { Failure, refuse } from '../../../platform/failure.ts'
import { toApiFailure } from '../api-failures.ts'
import { redirectUri } from '../connect/redirect-uri.ts'
import { type Browser, consume, newState } from '../connect/state.ts'
import { type GitHostDeps, nowOf } from '../deps.ts'
import { hostTitles } from '../hosts/host-titles.ts'
import { refuseConfigured, showApplication, storeApplication } from './applications.ts'
import { unreachableHook } from './hook-reach.ts'

/**
 * Creates a GitHub App from a manifest. The browser sends the manifest to GitHub, which asks the user and redirects to the dashboard
 * with a code. The dashboard posts the code with the state, and the server exchanges it for the app's settings.
 */
export function startManifest(body: ManifestBody, caller: Caller, deps: GitHostDeps): AppManifest {
  refuseConfigured('github', deps)
  const { host, settings, row } = deps.live.of('github')
  const problem = unreachableHook(hostTitles.github, settings.webUrl, deps.publicUrl())
  const expiresAt = nowOf(deps) + limits.oauthStateSeconds * 1000
  const state = signState({ ...credentialOf(caller), replaces: row?.version ?? null, expiresAt }, deps)
  return {
    url: host.manifests!.registrationUrl(body.organization ?? null, state),
    manifest: JSON.stringify(manifestOf(body.public ?? false, problem === null, deps)),
    expiresAt: iso(expiresAt),
    problems: problem === null ? [] : [problem],
  }
}

/** GitHub rejects a webhook address that it cannot reach: the app is then created without one. */
const manifestOf = (isPublic: boolean, hasHook: boolean, deps: GitHostDeps) => ({
  name: appName(deps.publicUrl()),
  url: deps.publicUrl(),
  ...(hasHook ? { hook_attributes: { url: `${deps.publicUrl()}/api/webhooks/git/github`, active: true } } : {}),
  redirect_url: `${deps.publicUrl()}/git`,
  callback_urls: [redirectUri(deps)],
  request_oauth_on_install: true,
  public: isPublic,
  default_permissions: {
    contents: 'read',
    metadata: 'read',
    statuses: 'write',
    pull_requests: 'write',
    repository_hooks: 'write',
    members: 'read',
  },
  ...(hasHook ? { default_events: ['push', 'pull_request'] } : {}),
})

/** Names of apps are unique at GitHub and have at most 34 characters. The user can change it there. */
function appName(publicUrl: string): string {
  const suffix = randomBytes(2).toString('hex')
  const host = new URL(publicUrl).hostname.replace(/[^a-z0-9.-]/gi, '')
  return `Berth ${host.slice(0, 34 - 'Berth '.length - suffix.length - 1)} ${suffix}`
}

export async function convertManifest(
  { code, state }: ConversionBody,
  caller: Caller,
  browser: Browser,
  deps: GitHostDeps,
): Promise<ConvertedApp> {
  deps.scrubber.register(code)
  const facts = readState(state, deps)
  const { userId, credentialId } = credentialOf(caller)
  if (!facts || facts.expiresAt <= nowOf(deps)) return refuse('state', 'is older than ten minutes. Create the app again.')
  if (facts.userId !== userId || facts.credentialId !== credentialId)
    return refuse('state', 'was created by another user or in another session. Create the app again.')
  refuseConfigured('github', deps)
  if (!(await consume(state, facts.expiresAt, deps))) return refuse('state', 'was already used. Create the app again.')
  const { host, settings } = deps.live.of('github')
  const app = await host.manifests!.convert(code).catch((error: unknown) => {
    throw conversionFailure(error)
  })
  deps.scrubber.register(app.clientSecret, app.privateKey, app.webhookSecret)
  const { id, slug, ...rest } = app
  const created = { webUrl: settings.webUrl, appId: id, appSlug: slug, ...rest }
  await storeApplication('github', created, userId, { version: facts.replaces }, deps)
  const installUrl = new URL(await deps.hosts.github.app!.installUrl())
  installUrl.searchParams.set('state', newState({ caller, browser, provider: 'github', source: 'app' }, deps))
  return { application: await showApplication('github', deps), installUrl: installUrl.href }
}

/** Says what to do with an app that GitHub has created and Berth could not store. */
function conversionFailure(error: unknown): unknown {
  if (!(error instanceof GitHostError)) return error
  const next = 'If GitHub lists the new app under Developer settings, delete it there. Then create the app again.'
  if (error.errorKind === 'not_found' || error.errorKind === 'refused')
    return new Failure('validation_failed', {
      message: `GitHub no longer accepts the code: it is valid once and for one hour. ${next}`,
      field: 'code',
      cause: error,
    })
  const failure = toApiFailure(error)
  if (!(failure instanceof Failure)) return failure
  return new Failure(failure.code, { ...failure.options, message: `${error.message}. ${next}` })
}

interface StateFacts {
  userId: string
  /** The session or token that started the flow. */
  credentialId: string
  /** Version of the stored application that the new one may replace; null: there was none. */
  replaces: string | null
  expiresAt: number
}

const purpose = 'git-host-manifest'

const credentialOf = ({ userId, sessionId, tokenId }: Caller) => ({ userId, credentialId: sessionId ?? tokenId ?? '' })

function signState(facts: StateFacts, { secretBox }: GitHostDeps): string {
  const text = Buffer.from(JSON.stringify({ ...facts, nonce: randomBytes(16).toString('base64url') })).toString('base64url')
  return `${text}.${secretBox.sign(text, purpose)}`
}

function readState(state: string, { secretBox }: GitHostDeps): StateFacts | null {
  const dotIndex = state.indexOf('.')
  const [text, signature] = [state.slice(0, dotIndex), state.slice(dotIndex + 1)]
  if (dotIndex < 1 || !secretBox.isSigned(signature, text, purpose)) return null
  return JSON.parse(Buffer.from(text, 'base64url').toString()) as StateFacts
}
