import { deletionTime } from '../../platform/job-runner/clock-watch.ts'
import { job, sharedKind } from '../../platform/jobs/declare.ts'
import type { Schedule } from '../../platform/jobs/schedules.ts'
import { commentKey, commentKind } from './comment-job.ts'
import { type GitEventsDeps, nowOf } from './deps.ts'
import { removePreview } from './preview.ts'
import { startNextBlocked } from './pull-requests.ts'
import { groupOfProject } from './receive.ts'
import { changePullRequest, forgetDeliveries, listExpired } from './store.ts'

type NoPayload = Record<string, never>
const kind = 'git-events.tidy'

export const tidySchedule: Schedule<unknown> = { key: kind, job: { kind }, payload: {}, recurrence: { everySeconds: 3600 } }

/** Hosts redeliver for a few days at most. A recorded signed push could be replayed at any time, so body hashes are kept longer. */
const keptDeliveriesMs = 14 * 24 * 60 * 60_000
const keptBodiesMs = 180 * 24 * 60 * 60_000

/** Removes previews without a push for longer than their project keeps them, and deletes old deliveries. */
export const tidyJob = (deps: GitEventsDeps) =>
  job<NoPayload, unknown>(kind, {
    deadlineMs: 30 * 60_000,
    async run(_payload, _deps, abort) {
      const { db } = deps.database
      const now = nowOf(deps)
      await forgetDeliveries(db, now - keptDeliveriesMs, now - keptBodiesMs)
      for (const { projectId, number } of await listExpired(db, await deletionTime(deps.database, deps.clock.now()))) {
        abort.throwIfAborted()
        const project = await deps.projects.find(projectId)
        const options = project && { groupKey: groupOfProject(project), uniqueKey: `${expireKind.kind}:${projectId}:${number}` }
        if (options)
          await deps.database.transaction(({ enqueue }) => enqueue(expireKind.of({ projectId }), { projectId, number }, options))
      }
    },
  })

const expireKind = sharedKind<{ projectId: string; number: number }>('git-events.expire-preview')

/** Removes an expired preview, in the repository's job group: a push that arrives meanwhile keeps its preview. */
export const expireJob = (deps: GitEventsDeps) =>
  job<{ projectId: string; number: number }, unknown>(expireKind, {
    deadlineMs: 10 * 60_000,
    async run({ projectId, number }) {
      const project = await deps.projects.find(projectId)
      const now = await deletionTime(deps.database, deps.clock.now())
      const expired = await listExpired(deps.database.db, now, { projectId, number })
      if (!project || expired.length === 0) return
      const row = expired[0]!
      await removePreview(row, deps)
      const reason = `The preview was removed because the pull request had no pushes for ${project.previewsMaxAgeDays} days. Push again, or close and reopen it, to get a new preview.`
      await deps.database.transaction(async (transaction) => {
        await changePullRequest(transaction.db, row, { state: 'expired', reason })
        await transaction.enqueue(commentKind.of({ projectId }), { projectId, number }, { groupKey: commentKey(row) })
      })
      await startNextBlocked(project, deps)
    },
  })
