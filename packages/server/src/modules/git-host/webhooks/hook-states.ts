import { GitHostError } from '../../../drivers/git-host/git-host-error.ts'
import type { GitWebhookRow } from '../../../platform/db/tables/git-host.ts'
import { Failure } from '../../../platform/failure.ts'
import { type GitHostDeps, nowOf } from '../deps.ts'

interface RequestedState {
  requestedAt: number
  isActive: Promise<boolean>
}

/** How long an answer of the host is given again. */
const freshMs = 10_000
const maxStates = 1_000

/** Whether the host reports our webhook as active. Concurrent and repeated queries within a short time share one call. */
export function createHookStates(deps: GitHostDeps) {
  const states = new Map<string, RequestedState>()
  return (row: GitWebhookRow, request: () => Promise<boolean>): Promise<boolean> => {
    const key = `${row.id} ${row.hookId} ${row.updatedAt}`
    const cached = states.get(key)
    if (cached && nowOf(deps) - cached.requestedAt < freshMs) return cached.isActive
    // A webhook of an unreachable host counts as inactive.
    const isActive = request().catch((error: unknown) => {
      if (!(error instanceof GitHostError || error instanceof Failure)) throw error
      deps.log.info({ err: error, webhookId: row.id }, 'git host: webhook state unknown')
      return false
    })
    states.delete(key)
    states.set(key, { requestedAt: nowOf(deps), isActive })
    for (const oldest of states.keys()) {
      if (states.size <= maxStates) break
      states.delete(oldest)
    }
    return isActive
  }
}
