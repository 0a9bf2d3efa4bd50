import { type Static, Type } from 'typebox'
import { limits } from '../limits.ts'
import { filledText, Id, nullable, oneOf, pageQuery, Time, text } from '../shape.ts'
import { cronRunStatuses } from '../states.ts'

const CronRunStatus = oneOf(...cronRunStatuses)
export const CronRunTrigger = oneOf('schedule', 'manual')
export type CronRunTrigger = Static<typeof CronRunTrigger>

/** A command as a list of words, or as text that is split into words. */
const Command = Type.Unsafe<string | string[]>({
  anyOf: [
    { type: 'string', minLength: 1, maxLength: limits.taskCommandCharacters },
    { type: 'array', minItems: 1, maxItems: 200, items: { type: 'string', maxLength: limits.taskCommandCharacters } },
  ],
  description:
    'List of words, or text that is split into words with the quotes of a shell. No shell interprets it: name one for pipes and variables, such as `["sh", "-c", "a | b"]`',
})
const Overlap = oneOf('skip', 'queue')

export const CronRun = Type.Object({
  id: Id,
  cronJobId: Id,
  projectId: Id,
  environment: Type.String(),
  status: CronRunStatus,
  trigger: CronRunTrigger,
  scheduledFor: nullable(Type.String({ ...Time, description: 'Time of the schedule; null for a run on request' })),
  deploymentId: nullable(Type.String({ ...Id, description: 'Deployment whose version the run uses; null before the start' })),
  exitCode: nullable(Type.Integer({ description: 'Exit code of the command; null if it has none' })),
  error: nullable(Type.String({ description: 'Reason of a run that did not succeed' })),
  createdAt: Time,
  startedAt: nullable(Time),
  finishedAt: nullable(Time),
})
export type CronRun = Static<typeof CronRun>

export const CronJob = Type.Object({
  id: Id,
  projectId: Id,
  name: Type.String(),
  schedule: Type.String({ description: 'Cron expression of five fields, or a name such as `@daily`' }),
  command: Command,
  environment: Type.String({ description: 'Slug of the environment whose live version the task runs' }),
  timezone: Type.String({ description: 'Time zone of the schedule' }),
  timeoutSeconds: Type.Integer({ description: 'A run that takes longer is stopped' }),
  overlap: Type.Unsafe<Static<typeof Overlap>>({
    ...Overlap,
    description: 'What happens at a scheduled time while a run is in progress: `skip` skips it, `queue` runs it afterwards',
  }),
  enabled: Type.Boolean({ description: 'Whether the schedule is active' }),
  nextRunAt: nullable(Type.String({ ...Time, description: 'Next scheduled time; null while disabled' })),
  lastRun: nullable(CronRun),
  createdAt: Time,
  updatedAt: Time,
})
export type CronJob = Static<typeof CronJob>

const fields = {
  name: filledText(100),
  schedule: text(200, 1),
  command: Command,
  environment: text(80, 1),
  timezone: text(100, 1),
  timeoutSeconds: Type.Integer({ minimum: 1, maximum: limits.taskSecondsMaximum }),
  overlap: Overlap,
  enabled: Type.Boolean(),
}

const optionalFields = {
  environment: Type.Optional(fields.environment),
  timezone: Type.Optional(fields.timezone),
  timeoutSeconds: Type.Optional(fields.timeoutSeconds),
  overlap: Type.Optional(fields.overlap),
  enabled: Type.Optional(fields.enabled),
}

export const CronJobBody = Type.Object({
  name: fields.name,
  schedule: fields.schedule,
  command: fields.command,
  ...optionalFields,
})
export type CronJobBody = Static<typeof CronJobBody>

export const CronJobChanges = Type.Partial(Type.Object(fields))
export type CronJobChanges = Static<typeof CronJobChanges>

/** A task in `berth.json`. */
export const CronJobInFile = Type.Object(CronJobBody.properties, { additionalProperties: false })

export const CronRunsQuery = Type.Object({ ...pageQuery, status: Type.Optional(CronRunStatus) })
export type CronRunsQuery = Static<typeof CronRunsQuery>

export const CronRunLogLine = Type.Object({
  id: Type.String(),
  time: Time,
  stream: oneOf('stdout', 'stderr'),
  message: Type.String(),
})
export type CronRunLogLine = Static<typeof CronRunLogLine>
