import { setTimeout as pause } from 'node:timers/promises'
import type { Db } from '../../packages/server/src/platform/db/schema.ts'
import type { Hosting } from '../../tests/kit/hosting.ts'

const maxWaitMs = 120_000

/** Waits until no job is due, and checks that each deployment and backup run has ended exactly once. Returns what there was. */
export async function checkEnds(api: Hosting, db: Db, problems: string[]): Promise<Record<string, number>> {
  await untilNoJobIsDue(db)
  const deployments = await db
    .selectFrom('deployments')
    .select(['id', 'projectId', 'status', 'errorCode', 'errorMessage'])
    .execute()
  const runs = await db.selectFrom('backupRuns').select(['id', 'status', 'errorMessage']).execute()
  const jobs = await db.selectFrom('jobs').select(['id', 'kind', 'payload', 'status', 'lastError']).execute()
  const open = ['queued', 'building', 'deploying']
  for (const { id, status, errorMessage } of deployments)
    if (open.includes(status) || status === 'failed') problems.push(`the deployment ${id} is ${status}: ${errorMessage}`)
  for (const projectId of new Set(deployments.map((one) => one.projectId))) {
    const live = deployments.filter((one) => one.projectId === projectId && one.status === 'live').length
    if (live !== 1) problems.push(`${projectId} has ${live} live deployments`)
  }
  for (const { id, status } of deployments) {
    if (status !== 'live' && status !== 'superseded') continue
    const ends = await linesOf(api, id, 'Live')
    if (ends !== 1) problems.push(`the log of ${id} (${status}) says ${ends} times that it is live`)
  }
  for (const { id, status, errorMessage } of runs) {
    if (status !== 'succeeded') problems.push(`the run ${id} is ${status}: ${errorMessage}`)
    // Each end announces itself with exactly one job.
    const count = jobs.filter(({ payload }) => payload.includes('backup.succeeded') && payload.includes(id)).length
    if (count !== 1) problems.push(`the end of the run ${id} was announced ${count} times`)
  }
  for (const { id, kind, status, lastError } of jobs)
    if (status === 'running' || status === 'failed') problems.push(`the job ${id} (${kind}) is ${status}: ${lastError}`)
  const count = (status: string) => deployments.filter((one) => one.status === status).length
  return {
    deployments: deployments.length,
    'live or superseded': count('live') + count('superseded'),
    'backup runs': runs.length,
    'jobs ended': jobs.filter(({ status }) => status === 'succeeded').length,
  }
}

async function untilNoJobIsDue(db: Db): Promise<void> {
  for (const end = performance.now() + maxWaitMs; ; await pause(500)) {
    const due = await db
      .selectFrom('jobs')
      .select(['kind', 'status', 'attempts'])
      .where(({ or, eb, and }) =>
        or([eb('status', '=', 'running'), and([eb('status', '=', 'queued'), eb('runAt', '<=', Date.now())])]),
      )
      .execute()
    if (due.length === 0) return
    if (performance.now() > end)
      throw new Error(`jobs have not ended after ${maxWaitMs / 1000} s: ${JSON.stringify(due.slice(0, 5))}`)
  }
}

async function linesOf(api: Hosting, deploymentId: string, message: string): Promise<number> {
  const { body } = await api.api('GET', `/deployments/${deploymentId}/logs?limit=200`)
  return body.data.filter((line: { message: string }) => line.message === message).length
}
