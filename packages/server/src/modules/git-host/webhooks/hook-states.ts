import { GitHostError } from '../../../drivers/git-host/git-host-error.ts'
import type { GitWebhookRow } from '../../../platform/db/tables/git-host.ts'
import { Failure } from '../../../platform/failure.ts'
import { type GitHostDeps, nowOf } from '../deps.ts'

export interface HookState {
  isActive: boolean
  /** The host's report of a failed delivery. */
  failure: string | null
}

interface RequestedState {
  requestedAt: number
  state: Promise<HookState>
}

/** Time for which the host's response is cached. */
const freshMs = 10_000
const maxStates = 1_000

/** The state of Berth's webhook as the host reports it. Concurrent and repeated queries within a short time share one call. */
export function createHookStates(deps: GitHostDeps) {
  const states = new Map<string, RequestedState>()
  return (row: GitWebhookRow, request: () => Promise<HookState>): Promise<HookState> => {
    const key = `${row.id} ${row.hookId} ${row.updatedAt}`
    const cached = states.get(key)
    if (cached && nowOf(deps) - cached.requestedAt < freshMs) return cached.state
    // A webhook of an unreachable host counts as inactive.
    const state = request().catch((error: unknown) => {
      if (!(error instanceof GitHostError || error instanceof Failure)) throw error
      deps.log.info({ err: error, webhookId: row.id }, 'git-host: webhook state unknown')
      return { isActive: false, failure: null }
    })
    states.delete(key)
    states.set(key, { requestedAt: nowOf(deps), state })
    for (const oldest of states.keys()) {
      if (states.size <= maxStates) break
      states.delete(oldest)
    }
    return state
  }
}
