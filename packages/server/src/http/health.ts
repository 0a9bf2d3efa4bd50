import type { contract } from '@berth/contract'
import type { Awaitable } from '../platform/awaitable.ts'
import { fail } from '../platform/failure.ts'
import type { Handlers } from './handler.ts'

export interface InstanceFacts {
  version: string
  mode: 'self-hosted' | 'cloud'
  /** As it is at this moment; undefined where nothing runs. */
  isolation(): { kind: 'docker' | 'bubblewrap' | 'own-users' | 'none'; words: string } | undefined
  /** Whether the first owner can sign in. */
  isReady(): Awaitable<boolean>
}

/** What is true of the instance as a whole. */
export function createInstance({ version, mode, isolation, isReady }: InstanceFacts) {
  const handlers: Handlers<typeof contract.instance> = {
    health: async (_, { isSignedIn }) => {
      if (!(await isReady())) fail('starting', { retryAfterSeconds: 1 })
      const inForce = isSignedIn ? isolation() : undefined
      return { data: { status: 'ok', version, mode, ...(inForce ? { isolation: inForce } : {}) } }
    },
  }
  return { handlers }
}
