import type { Stack } from '@berth/contract'
import { fail } from '../../platform/failure.ts'
import { answerAway } from '../servers/index.ts'
import type { MigrationDeps } from './deps.ts'
import { type Discovery, discover } from './discover.ts'
import { stackOf } from './stack.ts'
import { adoptedContainers } from './store.ts'

const limitMs = 90_000

export async function scan(serverId: string, organizationId: string, deps: MigrationDeps): Promise<Stack> {
  const discovery = await discoverOn(serverId, organizationId, deps)
  return stackOf(serverId, discovery, await adoptedContainers(deps.database.db, serverId))
}

/** Looks at the server anew: what a client says of it is never taken for true. */
export async function discoverOn(serverId: string, organizationId: string, deps: MigrationDeps): Promise<Discovery> {
  const reader = deps.readerOf(serverId)
  try {
    return await discover(reader, { readStack: deps.readStack, organizationId, abort: AbortSignal.timeout(limitMs) })
  } catch (error) {
    if (error instanceof Error && error.name === 'TimeoutError')
      fail('server_unreachable', { words: `The server could not be read within ${limitMs / 1000} s`, cause: error })
    return answerAway(error)
  }
}
