import type { contract } from '@berth/contract'
import type { Isolation } from '../../drivers/runtime/runtime.ts'
import type { Handlers } from '../../http/handler.ts'

export interface InstanceFacts {
  version: string
  mode: 'self-hosted' | 'cloud'
  /** Undefined where nothing runs. */
  isolation: Isolation | undefined
}

/** What is true of the instance as a whole. */
export function createInstance({ version, mode, isolation }: InstanceFacts) {
  const handlers: Handlers<typeof contract.instance> = {
    health: (_, { isSignedIn }) => ({
      data: { status: 'ok', version, mode, ...(isSignedIn && isolation ? { isolation } : {}) },
    }),
  }
  return { handlers }
}
