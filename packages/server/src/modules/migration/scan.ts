import type { Stack } from '@berth/contract'
import type { Caller } from '../../http/handler.ts'
import { fail } from '../../platform/failure.ts'
import { answerUnreachable } from '../servers/index.ts'
import type { MigrationDeps } from './deps.ts'
import { type Discovery, discover } from './discover.ts'
import { stackOf } from './stack.ts'
import { adoptedContainers } from './store.ts'

const limitMs = 90_000
/** Maximum concurrent reads of one server: each may hold all of a server's output in memory. Further reads wait. */
const lanes = 2
let nextLane = 0

export async function scan(serverId: string, caller: Caller, deps: MigrationDeps): Promise<Stack> {
  const { organizationId } = caller
  const discovery = await discoverOn(serverId, organizationId, deps)
  const adoptedBy = await adoptedContainers(deps.database.db, organizationId)
  return stackOf(serverId, discovery, adoptedBy, await deps.isOperator(caller))
}

/** Reads the server again: data about it that a client sends is never trusted. */
export async function discoverOn(serverId: string, organizationId: string, deps: MigrationDeps): Promise<Discovery> {
  const reader = deps.readerOf(serverId)
  const abort = AbortSignal.timeout(limitMs)
  const read = () => discover(reader, { readStack: deps.readStack, organizationId, abort })
  try {
    return await deps.locks.run(`${serverId} ${nextLane++ % lanes}`, read, abort)
  } catch (error) {
    if (error instanceof Error && error.name === 'TimeoutError')
      fail('server_unreachable', { message: `Reading the server timed out after ${limitMs / 1000} s`, cause: error })
    return answerUnreachable(error)
  }
}
