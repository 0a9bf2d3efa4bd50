import { timingSafeEqual } from 'node:crypto'
import type { HandedTokens, HandoffBody, HandoffCollection, HandoffRefresh } from '@berth/contract'
import type { AccountTokens } from '../../../drivers/git-host/git-host.ts'
import type { Caller } from '../../../http/handler.ts'
import { fail, refuse } from '../../../platform/failure.ts'
import { Secret } from '../../../platform/secrets/secret.ts'
import { SecretBoxError } from '../../../platform/secrets/secret-box.ts'
import { withApiFailures } from '../api-failures.ts'
import { challengeOf, handoffLocation } from '../connections/by-cloud.ts'
import { type GitHostDeps, nowOf } from '../deps.ts'
import { hostTitles } from '../hosts/host-titles.ts'
import { redirectUri } from './redirect-uri.ts'
import { type ConnectFlow, consume, newState } from './state.ts'

/**
 * The cloud's side of a login for a linked instance. The git host redirects the browser to the cloud with the host's code. The
 * cloud redirects it to the instance with a handoff code, and the instance redeems the handoff code through its link. The cloud
 * stores nothing: the handoff code is this object, sealed. The host's code is exchanged for tokens when the handoff code is redeemed.
 */
interface Waiting {
  /** The git host's code. */
  code: string
  provider: ConnectFlow['provider']
  organizationId: string
  userId: string
  challenge: string
  expiresAt: number
}

const collectMs = 5 * 60_000

export const refuseOutsideCloud = ({ mode }: GitHostDeps): void => {
  if (mode !== 'cloud') fail('not_found', { message: 'Only a cloud can sign in for other instances' })
}

export function startHandoff({ provider, ...handoff }: HandoffBody, caller: Caller, deps: GitHostDeps): { url: string } {
  const { code: codeFlow } = deps.hosts[provider].signIn
  if (!codeFlow) fail('no_source', { message: `This cloud has no OAuth app at ${hostTitles[provider]}` })
  if (URL.parse(handoff.returnTo)?.origin !== handoff.returnTo.toLowerCase()) refuse('returnTo', 'is not a valid origin')
  // The instance sends this request, not a browser on this machine.
  const state = newState({ caller, browser: { isThisMachine: false }, provider, source: 'oauth', handoff }, deps)
  return { url: codeFlow.url(state, redirectUri(deps)) }
}

/** The URL at the instance to which the browser is redirected, with a handoff code for the host's code. */
export function handOver(flow: ConnectFlow, code: string, deps: GitHostDeps): string {
  const { provider, organizationId, userId } = flow
  const { returnTo, state, challenge } = flow.handoff!
  const waiting: Waiting = { code, provider, organizationId, userId, challenge, expiresAt: nowOf(deps) + collectMs }
  const url = new URL('/api/gitprovider/connect/redirect', returnTo)
  url.searchParams.set('state', state)
  url.searchParams.set('code', deps.secretBox.seal(JSON.stringify(waiting), handoffLocation))
  return url.href
}

export async function collectHandoff(
  { code, verifier }: HandoffCollection,
  { organizationId, userId }: Caller,
  deps: GitHostDeps,
): Promise<HandedTokens> {
  const waiting = openHandoff(code, deps)
  const isOwner =
    waiting?.organizationId === organizationId && waiting.userId === userId && isSame(challengeOf(verifier), waiting.challenge)
  const host = waiting && deps.hosts[waiting.provider].signIn.code
  if (!isOwner || !host || !(await consume(code, waiting.expiresAt, deps)))
    refuse('code', 'was already used, is older than five minutes, or belongs to another link. Connect again.')
  return handOverTokens(await withApiFailures(host.exchange(waiting.code, redirectUri(deps))), deps)
}

export async function refreshHandoff({ provider, refreshToken }: HandoffRefresh, deps: GitHostDeps): Promise<HandedTokens> {
  deps.scrubber.register(refreshToken)
  return handOverTokens(
    await withApiFailures(deps.hosts[provider].signIn.refresh(new Secret(refreshToken), { timeoutMs: 12_000 })),
    deps,
  )
}

function handOverTokens({ accessToken, refreshToken, lifetimeSeconds }: AccountTokens, { scrubber }: GitHostDeps): HandedTokens {
  scrubber.register(accessToken, refreshToken)
  return { accessToken: accessToken.reveal(), refreshToken: refreshToken?.reveal() ?? null, lifetimeSeconds }
}

function openHandoff(code: string, { secretBox }: GitHostDeps): Waiting | null {
  try {
    return JSON.parse(secretBox.open(code, handoffLocation).reveal()) as Waiting
  } catch (error) {
    if (error instanceof SecretBoxError) return null
    throw error
  }
}

const isSame = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))
