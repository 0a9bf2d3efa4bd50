import type { contract } from '@berth/contract'
import type { Handlers } from '../../http/handler.ts'
import { BadCursor, listResponse } from '../../platform/db/pages.ts'
import { isLogId } from '../../platform/log-store/log-entry.ts'
import { listCronJobs } from './cron-job-store.ts'
import { changeCronJob, createCronJob, removeCronJob, showCronJob, showCronJobs } from './cron-jobs.ts'
import { listRuns } from './cron-run-store.ts'
import type { TasksDeps } from './deps.ts'
import { requestRun } from './request-run.ts'
import { showRun } from './show-run.ts'

export function tasksHandlers(deps: TasksDeps): Handlers<typeof contract.tasks> {
  const { db } = deps.database
  return {
    list: async ({ query }, { project }) => {
      const { rows, nextCursor } = await listCronJobs(db, project.id, query)
      return { data: await showCronJobs(rows, deps), nextCursor }
    },
    create: async ({ body }, { project, caller, audit }) => {
      audit({ objectKind: 'cronJob', made: 'crn' })
      return { data: await showCronJob(await createCronJob(project, body, caller.userId, deps), deps) }
    },
    update: async ({ body }, { cronJob }) => ({ data: await showCronJob(await changeCronJob(cronJob, body, deps), deps) }),
    remove: async (_, { cronJob }) => {
      await removeCronJob(cronJob, deps)
      return undefined
    },
    run: async (_, { cronJob }) => ({ data: showRun(await requestRun(cronJob.id, deps)) }),
    runs: async ({ query }, { cronJob }) => listResponse(await listRuns(db, cronJob.id, query), showRun),
    getRun: (_, { cronRun }) => ({ data: showRun(cronRun) }),
    runLogs: async ({ query }, { cronRun }) => {
      const { limit = 100, cursor } = query
      if (cursor !== undefined && !isLogId(cursor)) throw new BadCursor()
      const options = { ...(cursor ? { afterId: cursor } : {}), filter: { run: cronRun.id } }
      const data = []
      for await (const { id, time, stream, message } of deps.logStore.read(cronRun.projectId, 'tasks', options)) {
        if (data.length === limit) return { data, nextCursor: data.at(-1)?.id ?? null }
        data.push({ id, time, stream, message })
      }
      return { data, nextCursor: null }
    },
  }
}
