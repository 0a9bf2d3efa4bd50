import { randomBytes } from 'node:crypto'
import { type GitHostProvider, type HandoffBody, limits } from '@berth/contract'
import type { Caller } from '../../../http/handler.ts'
import { hashToken } from '../../../platform/secrets/token.ts'
import { type GitHostDeps, nowOf } from '../deps.ts'

/** The origin of a request. */
export interface Browser {
  /** The request came from this machine, without a proxy. */
  isThisMachine: boolean
}

/** An OAuth or app-installation flow: who started it, for which organisation, and how it continues. */
export interface ConnectFlow {
  organizationId: string
  userId: string
  provider: GitHostProvider
  source: 'app' | 'oauth'
  /** Null: a token started the flow, so no browser session is known. */
  sessionId: string | null
  /** The token that started the flow; its permissions are checked again at the end. */
  tokenId: string | null
  fromThisMachine: boolean
  /** Set once the browser has returned from the installation and continues to sign in. */
  installationId: number | null
  /** True once the user has given consent. */
  isConfirmed: boolean
  /** Set for a flow through a cloud: the link it uses, and the nonce of its verifier. */
  byCloud: { link: string; nonce: string } | null
  /** Set in a cloud: the linked instance that the flow belongs to, and how it continues there. */
  handoff: Pick<HandoffBody, 'returnTo' | 'state' | 'challenge'> | null
}

const purpose = 'git-host-state'

export const newState = (
  started: { caller: Caller; browser: Browser; provider: GitHostProvider; source: 'app' | 'oauth' } & Partial<
    Pick<ConnectFlow, 'byCloud' | 'handoff'>
  >,
  deps: GitHostDeps,
): string =>
  stateOf(
    {
      organizationId: started.caller.organizationId,
      userId: started.caller.userId,
      provider: started.provider,
      source: started.source,
      sessionId: started.caller.sessionId,
      tokenId: started.caller.tokenId,
      fromThisMachine: started.browser.isThisMachine,
      installationId: null,
      isConfirmed: false,
      byCloud: started.byCloud ?? null,
      handoff: started.handoff ?? null,
    },
    deps,
  )

/**
 * A state parameter: random, signed by this instance, valid for ten minutes and for one use. Its hash is stored when it is used.
 */
export function stateOf(flow: ConnectFlow, deps: GitHostDeps): string {
  const { organizationId, userId, provider, source, sessionId, fromThisMachine, installationId, isConfirmed } = flow
  const more = {
    ...(flow.tokenId ? { tokenId: flow.tokenId } : {}),
    ...(flow.byCloud ? { byCloud: flow.byCloud } : {}),
    ...(flow.handoff ? { handoff: flow.handoff } : {}),
  }
  const expiresAt = nowOf(deps) + limits.oauthStateSeconds * 1000
  const facts = [organizationId, userId, provider, source, sessionId, +fromThisMachine, installationId, +isConfirmed, expiresAt]
  const text = Buffer.from(JSON.stringify([...facts, randomBytes(16).toString('base64url'), more])).toString('base64url')
  return `${text}.${deps.secretBox.sign(text, purpose)}`
}

type More = Partial<Pick<ConnectFlow, 'tokenId' | 'byCloud' | 'handoff'>>
type Facts = [
  string,
  string,
  GitHostProvider,
  ConnectFlow['source'],
  string | null,
  0 | 1,
  number | null,
  0 | 1,
  number,
  string,
  More,
]

/**
 * Consumes a state. Returns null when it is forged, expired or already used. Of two concurrent requests with one state, one
 * succeeds.
 */
export async function consumeState(state: string, deps: GitHostDeps): Promise<ConnectFlow | null> {
  const dotIndex = state.indexOf('.')
  const [text, signature] = [state.slice(0, dotIndex), state.slice(dotIndex + 1)]
  if (dotIndex < 1 || !deps.secretBox.isSigned(signature, text, purpose)) return null
  const facts = JSON.parse(Buffer.from(text, 'base64url').toString()) as Facts
  const [organizationId, userId, provider, source, sessionId, fromThisMachine, installationId, isConfirmed, expiresAt] = facts
  if (!(await consume(state, expiresAt, deps))) return null
  return {
    ...{ organizationId, userId, provider, source, sessionId, installationId },
    fromThisMachine: fromThisMachine === 1,
    isConfirmed: isConfirmed === 1,
    tokenId: facts[10].tokenId ?? null,
    byCloud: facts[10].byCloud ?? null,
    handoff: facts[10].handoff ?? null,
  }
}

/** Consumes a one-time value. Returns false when it is expired or already used. Only its hash is stored, until it expires. */
export async function consume(nonce: string, expiresAt: number, deps: GitHostDeps): Promise<boolean> {
  const now = nowOf(deps)
  if (expiresAt <= now) return false
  const { db } = deps.database
  const used = await db
    .insertInto('gitOauthStates')
    .values({ stateHash: hashToken(nonce), expiresAt })
    .onConflict((conflict) => conflict.doNothing())
    .returning('stateHash')
    .executeTakeFirst()
  if (!used) return false
  await db.deleteFrom('gitOauthStates').where('expiresAt', '<', now).execute()
  return true
}
