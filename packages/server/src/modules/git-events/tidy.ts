import { job } from '../../platform/jobs/declare.ts'
import type { Schedule } from '../../platform/jobs/schedules.ts'
import { type GitEventsDeps, nowOf } from './deps.ts'
import { removePreview } from './preview.ts'
import { useRoom } from './pull-requests.ts'
import { changePullRequest, forgetDeliveries, listExpired } from './store.ts'
import { tellKey, tellKind } from './tell-pull-request.ts'

type Nothing = Record<string, never>
const kind = 'git-events.tidy'

export const tidySchedule: Schedule<unknown> = { key: kind, job: { kind }, payload: {}, rhythm: { everySeconds: 3600 } }

/** Hosts send a delivery again for a few days at the most. */
const keptDeliveriesMs = 14 * 24 * 60 * 60_000

/** Removes previews that nobody has pushed to for longer than their project keeps them, and forgets old deliveries. */
export const tidyJob = (deps: GitEventsDeps) =>
  job<Nothing, unknown>(kind, {
    deadlineMs: 30 * 60_000,
    async run(_payload, _deps, abort) {
      const { db } = deps.database
      await forgetDeliveries(db, nowOf(deps) - keptDeliveriesMs)
      for (const row of await listExpired(db, nowOf(deps))) {
        abort.throwIfAborted()
        const project = await deps.projects.find(row.projectId)
        if (!project) continue
        await removePreview(row, deps)
        const reason = `Nobody pushed to it for ${project.previewsMaxAgeDays} days, and its preview was removed: push again, or close and reopen it, to get it back`
        await deps.database.transaction(async (bound) => {
          await changePullRequest(bound.db, row, { state: 'expired', reason })
          await bound.enqueue(tellKind, { projectId: row.projectId, number: row.number }, { groupKey: tellKey(row) })
        })
        await useRoom(project, deps)
      }
    },
  })
