import type { Disconnected, DisconnectSource, GitHostProvider, GitHostSource } from '@berth/contract'
import type { Caller } from '../../http/handler.ts'
import { deleteDeviceLogins } from './connect/device-store.ts'
import { deleteConnections, listConnections } from './connections/connection-store.ts'
import type { GitHostDeps } from './deps.ts'
import { sourcesOf, stateOf } from './status.ts'

const dropped: Record<DisconnectSource, readonly GitHostSource[]> = {
  oauth: ['oauth'],
  cli: ['cli'],
  all: ['app', 'oauth', 'cli'],
}

/** Deletes the stored connections. The app stays installed at the host, and the machine keeps its own login. */
export async function disconnect(
  source: DisconnectSource,
  provider: GitHostProvider | null,
  { organizationId }: Caller,
  { database }: GitHostDeps,
): Promise<Disconnected> {
  const rows = await database.transaction(async ({ db }) => {
    await deleteConnections(db, organizationId, dropped[source], provider)
    if (source !== 'cli') await deleteDeviceLogins(db, organizationId, provider)
    return listConnections(db, organizationId)
  })
  return { source, state: stateOf(rows), sources: sourcesOf(rows) }
}
