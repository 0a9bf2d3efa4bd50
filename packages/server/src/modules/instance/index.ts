import type { contract } from '@berth/contract'
import type { Handlers } from '../../http/handler.ts'

/** What is true of the instance as a whole. */
export function createInstance({ version, mode }: { version: string; mode: 'self-hosted' | 'cloud' }) {
  const handlers: Handlers<typeof contract.instance> = {
    health: () => ({ data: { status: 'ok', version, mode } }),
  }
  return { handlers }
}
