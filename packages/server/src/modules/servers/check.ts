import type { ServerCheck } from '@berth/contract'
import { ServerUnreachable } from '../../drivers/shell/ssh/server-unreachable.ts'
import { iso } from '../../platform/db/columns.ts'
import type { ServerRow } from '../../platform/db/tables/servers.ts'
import { fail } from '../../platform/failure.ts'
import { nowOf, type ServersDeps } from './deps.ts'
import { findServer, updateServer } from './store.ts'

/** Logs in and pings Docker, ignoring remembered failures, and records the result. The driver has its own time limit. */
export async function checkServer(
  id: string,
  deps: ServersDeps,
  abort: AbortSignal = new AbortController().signal,
): Promise<{ version: string; latencyMs: number }> {
  const startedAt = performance.now()
  try {
    deps.links.for(id).retry()
    const { version } = await deps.readerOf(id).ping(abort)
    await saveCheckResult(id, null, deps)
    return { version, latencyMs: Math.round(performance.now() - startedAt) }
  } catch (error) {
    if (error instanceof ServerUnreachable) await saveCheckResult(id, error.message, deps)
    throw error
  }
}

const saveCheckResult = (id: string, reason: string | null, deps: ServersDeps) =>
  updateServer(deps.database.db, id, {
    status: reason === null ? 'reachable' : 'unreachable',
    statusReason: reason,
    checkedAt: nowOf(deps),
  })

/** Check for an API request. */
export async function checkForCaller({ id }: ServerRow, deps: ServersDeps): Promise<ServerCheck> {
  const { version, latencyMs } = await checkServer(id, deps).catch(answerUnreachable)
  const row = (await findServer(deps.database.db, id)) ?? fail('not_found')
  const checkedAt = iso(row.checkedAt ?? nowOf(deps))
  return { reachable: true, hostKey: row.hostKey ?? '', docker: { version }, latencyMs, checkedAt }
}

/** Responds 502 with the reason for an unreachable server, and 403 for an address that the caller may not use. */
export function answerUnreachable(error: unknown): never {
  if (!(error instanceof ServerUnreachable)) throw error
  if (error.reason === 'address_refused') fail('forbidden', { field: 'host', message: error.message })
  return fail('server_unreachable', { message: error.message, cause: error })
}
