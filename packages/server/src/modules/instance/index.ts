import type { contract } from '@berth/contract'
import type { Awaitable } from '../../awaitable.ts'
import { fail } from '../../failure.ts'
import type { Handlers } from '../../http/handler.ts'

interface InstanceDeps {
  version: string
  mode: 'self-hosted' | 'cloud'
  /** Whether the first owner can sign in. */
  isReady(): Awaitable<boolean>
}

/** What is true of the instance as a whole. */
export function createInstance({ version, mode, isReady }: InstanceDeps) {
  const handlers: Handlers<typeof contract.instance> = {
    health: async () => {
      if (!(await isReady())) fail('starting', { retryAfterSeconds: 1 })
      return { data: { status: 'ok', version, mode } }
    },
  }
  return { handlers }
}
