import { errorMessage } from '../../platform/error-message.ts'
import { job } from '../../platform/jobs/declare.ts'
import type { Schedule } from '../../platform/jobs/schedules.ts'
import type { CloudDeps } from './deps.ts'
import type { Links } from './links.ts'
import { relayFeed } from './relay-feed.ts'
import { linkedOrganizations } from './store.ts'
import { watchMissing } from './watch-missing.ts'

type NoPayload = Record<string, never>
export const watchKind = { kind: 'cloud.watch' }
export const watchSchedule: Schedule<unknown> = {
  key: watchKind.kind,
  job: watchKind,
  payload: {},
  recurrence: { everySeconds: 60 },
}

/** Time limit per link, so that an unresponsive cloud does not delay the others. */
const perLinkMs = 20_000

/** Polls each linked cloud for events of its projects. */
export const watchJob = (deps: CloudDeps, links: Links) =>
  job<NoPayload, unknown>(watchKind.kind, {
    deadlineMs: 10 * 60_000,
    maxAttempts: 1,
    async run(_, __, abort) {
      await Promise.all((await linkedOrganizations(deps.database.db)).map((id) => watchOne(id, deps, links, abort)))
    },
  })

async function watchOne(organizationId: string, deps: CloudDeps, links: Links, abort: AbortSignal): Promise<void> {
  const limited = AbortSignal.any([abort, AbortSignal.timeout(perLinkMs)])
  for (const check of [relayFeed, watchMissing]) {
    // Reads the link again, because the first check writes to its row.
    const link = await links.read(organizationId)
    if (!link) return
    await check(link, deps, limited).catch((error: unknown) =>
      deps.log.info({ organizationId, reason: errorMessage(error) }, 'cloud: reading the linked cloud failed, will retry'),
    )
  }
}
