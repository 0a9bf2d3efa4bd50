import { randomBytes } from 'node:crypto'
import { type GitHostProvider, type HandoffBody, limits } from '@berth/contract'
import type { Caller } from '../../../http/handler.ts'
import { hashToken } from '../../../platform/secrets/token.ts'
import { type GitHostDeps, nowOf } from '../deps.ts'

/** From where somebody asks. */
export interface Browser {
  /** Straight from this very machine, with no proxy between. */
  isThisMachine: boolean
}

/** Who started a journey to the git host, for which organisation, and what for. */
export interface ConnectFlow {
  organizationId: string
  userId: string
  provider: GitHostProvider
  source: 'app' | 'oauth'
  /** Null: a token started it, and no browser is known. */
  sessionId: string | null
  /** The token that started it: what it may do is asked again at the end. */
  tokenId: string | null
  fromThisMachine: boolean
  /** Set once the browser came back from the installation and goes on to sign in. */
  installationId: number | null
  /** Set when the person was asked and said yes. */
  isConfirmed: boolean
  /** Of one that goes by a cloud: by which link, and what its verifier is made of. */
  byCloud: { link: string; nonce: string } | null
  /** In a cloud: of which linked instance it is, and how that one goes on. */
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

/** Random, signed by this instance, good for ten minutes and once. Nothing is stored until it is used, and then its hash. */
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

/** Null: not ours, expired, or used before. Of two that come with the same state, one gets it. */
export async function consumeState(state: string, deps: GitHostDeps): Promise<ConnectFlow | null> {
  const cut = state.indexOf('.')
  const [text, signature] = [state.slice(0, cut), state.slice(cut + 1)]
  if (cut < 1 || !deps.secretBox.isSigned(signature, text, purpose)) return null
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

/** False: too late, or not for the first time. Only its hash is kept, and only as long as it could come again. */
export async function consume(word: string, expiresAt: number, deps: GitHostDeps): Promise<boolean> {
  const now = nowOf(deps)
  if (expiresAt <= now) return false
  const { db } = deps.database
  const spent = await db
    .insertInto('gitOauthStates')
    .values({ stateHash: hashToken(word), expiresAt })
    .onConflict((conflict) => conflict.doNothing())
    .returning('stateHash')
    .executeTakeFirst()
  if (!spent) return false
  await db.deleteFrom('gitOauthStates').where('expiresAt', '<', now).execute()
  return true
}
