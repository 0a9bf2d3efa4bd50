import { route } from '../route.ts'
import { data, list, PageQuery } from '../shape.ts'
import { CronJob, CronJobBody, CronJobChanges, CronRun, CronRunLogLine, CronRunsQuery } from './shapes.ts'

/** Scheduled tasks: commands that run at times of a schedule, with a project's live version. */
export const tasks = {
  list: route('GET /projects/:id/cron-jobs', {
    summary: 'Scheduled tasks of the project, with their next and last run',
    permission: 'project:read',
    on: 'project',
    query: PageQuery,
    returns: list(CronJob),
  }),
  create: route('POST /projects/:id/cron-jobs', {
    summary: 'Create a scheduled task: a command that runs with the live version in an instance of its own',
    permission: 'project:write',
    on: 'project',
    body: CronJobBody,
    returns: data(CronJob),
    status: 201,
    errors: ['cron_invalid', 'conflict'],
  }),
  update: route('PATCH /projects/:id/cron-jobs/:cronJobId', {
    summary: 'Change a scheduled task; a run in progress is not affected',
    permission: 'project:write',
    on: 'cronJob',
    body: CronJobChanges,
    returns: data(CronJob),
    errors: ['cron_invalid'],
  }),
  remove: route('DELETE /projects/:id/cron-jobs/:cronJobId', {
    summary: 'Delete a scheduled task with its history; a run in progress is stopped',
    permission: 'project:write',
    on: 'cronJob',
    status: 204,
  }),
  run: route('POST /projects/:id/cron-jobs/:cronJobId/run', {
    summary: 'Run the task now, or after the run in progress; if a run is still queued, that run is returned',
    permission: 'project:write',
    on: 'cronJob',
    returns: data(CronRun),
    status: 202,
    errors: ['conflict', 'project_disabled', 'work_in_progress'],
  }),
  runs: route('GET /projects/:id/cron-jobs/:cronJobId/runs', {
    summary: 'Runs of the task, newest first; old ones are removed',
    permission: 'project:read',
    on: 'cronJob',
    query: CronRunsQuery,
    returns: list(CronRun),
  }),
  getRun: route('GET /cron-runs/:id', {
    summary: 'One run of a scheduled task',
    permission: 'project:read',
    on: 'cronRun',
    returns: data(CronRun),
  }),
  runLogs: route('GET /cron-runs/:id/logs', {
    summary: 'Output of a run, oldest line first',
    permission: 'project:read',
    on: 'cronRun',
    query: PageQuery,
    returns: list(CronRunLogLine),
  }),
}
