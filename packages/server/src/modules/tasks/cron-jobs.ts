import { type CronJob, type CronJobBody, type CronJobChanges, limits } from '@berth/contract'
import { iso } from '../../platform/db/columns.ts'
import { newId } from '../../platform/db/ids.ts'
import { cronJobJson } from '../../platform/db/json-columns/tasks.ts'
import type { ProjectRow } from '../../platform/db/tables/projects.ts'
import type { CronJobRow, CronRunRow } from '../../platform/db/tables/tasks.ts'
import { fail } from '../../platform/failure.ts'
import { lockProject, requireEnvironment } from '../projects/index.ts'
import { argvOf } from './command.ts'
import * as store from './cron-job-store.ts'
import { lastRuns } from './cron-run-store.ts'
import { nowOf, type TasksDeps } from './deps.ts'
import { endRuns } from './end-runs.ts'
import { checkSchedule, nextRunAt, reschedule, unscheduleJob } from './job-schedule.ts'
import { showRun } from './show-run.ts'

const defaultTimeoutSeconds = 3600

export async function createCronJob(
  project: ProjectRow,
  body: CronJobBody,
  createdBy: string | null,
  deps: TasksDeps,
): Promise<CronJobRow> {
  const { name, schedule, command, timezone = 'UTC' } = body
  checkSchedule({ schedule, timezone }, deps.clock.now())
  argvOf(command)
  const { slug } = await requireEnvironment(deps.database.db, project.id, body.environment ?? 'production')
  const now = nowOf(deps)
  return deps.database.transaction(async (transaction) => {
    await lockProject(transaction, project.id)
    if ((await store.allCronJobs(transaction.db, project.id)).length >= limits.tasksOfProject)
      fail('conflict', { message: `The project has ${limits.tasksOfProject} scheduled tasks, the maximum. Delete one first.` })
    const row = await store.insertCronJob(transaction.db, {
      id: newId('crn'),
      projectId: project.id,
      name: name.trim(),
      schedule,
      command: JSON.stringify(command),
      environment: slug,
      timezone,
      timeoutSeconds: body.timeoutSeconds ?? defaultTimeoutSeconds,
      overlap: body.overlap ?? 'skip',
      enabled: body.enabled ?? true,
      failureAnnouncedAt: null,
      createdBy,
      createdAt: now,
      updatedAt: now,
    })
    await reschedule(row, transaction)
    return row
  })
}

export async function changeCronJob(
  { id, projectId }: CronJobRow,
  { command, name, environment, ...changes }: CronJobChanges,
  deps: TasksDeps,
): Promise<CronJobRow> {
  if (command !== undefined) argvOf(command)
  const slug = environment === undefined ? undefined : (await requireEnvironment(deps.database.db, projectId, environment)).slug
  return deps.database.transaction(async (transaction) => {
    await lockProject(transaction, projectId)
    const current = (await store.findCronJob(transaction.db, id)) ?? fail('not_found')
    if (changes.schedule !== undefined || changes.timezone !== undefined)
      checkSchedule({ schedule: current.schedule, timezone: current.timezone, ...changes }, deps.clock.now())
    const row = await store.updateCronJob(transaction.db, id, {
      ...changes,
      ...(name === undefined ? {} : { name: name.trim() }),
      ...(command === undefined ? {} : { command: JSON.stringify(command) }),
      ...(slug === undefined ? {} : { environment: slug }),
      updatedAt: nowOf(deps),
    })
    if (!row) return fail('not_found')
    await reschedule(row, transaction)
    return row
  })
}

/** Deletes a task. Its schedule ends first, so that no new run starts while the current one is stopped. */
export async function removeCronJob(row: CronJobRow, deps: TasksDeps): Promise<void> {
  await deps.database.transaction(async (transaction) => {
    await lockProject(transaction, row.projectId)
    await unscheduleJob(row, transaction)
    await store.updateCronJob(transaction.db, row.id, { enabled: 0 })
  })
  await endRuns({ cronJobId: row.id }, 'The task was deleted', deps)
  await store.deleteCronJob(deps.database.db, row.id)
}

export async function showCronJobs(rows: readonly CronJobRow[], deps: TasksDeps): Promise<CronJob[]> {
  const newest = await lastRuns(
    deps.database.db,
    rows.map(({ id }) => id),
  )
  return rows.map((row) => show(row, newest.get(row.id), deps.clock.now()))
}

export async function showCronJob(row: CronJobRow, deps: TasksDeps): Promise<CronJob> {
  const [shown] = await showCronJobs([row], deps)
  return shown as CronJob
}

const show = (row: CronJobRow, lastRun: CronRunRow | undefined, now: Date): CronJob => ({
  id: row.id,
  projectId: row.projectId,
  name: row.name,
  schedule: row.schedule,
  command: cronJobJson.command(row),
  environment: row.environment,
  timezone: row.timezone,
  timeoutSeconds: row.timeoutSeconds,
  overlap: row.overlap,
  enabled: row.enabled === 1,
  nextRunAt: nextRunAt(row, now)?.toISOString() ?? null,
  lastRun: lastRun ? showRun(lastRun) : null,
  createdAt: iso(row.createdAt),
  updatedAt: iso(row.updatedAt),
})
