import { type Static, Type } from 'typebox'
import { Id, nullable, oneOf, Time, text } from '../shape.ts'
import { BackupFailure } from './shapes.ts'

/** `everything`: volumes, images, sources and logs of the projects too. `database`: the database and the keys alone. */
export const InstanceBackupContent = oneOf('everything', 'database')
export type InstanceBackupContent = Static<typeof InstanceBackupContent>

/** The schedule of the backups of the instance itself. */
export const InstanceBackupPolicy = Type.Object({
  destinationId: Id,
  cronExpression: Type.String(),
  timezone: Type.String(),
  retainCount: Type.Integer(),
  content: InstanceBackupContent,
  nextRunAt: nullable(Time),
  updatedAt: Time,
})
export type InstanceBackupPolicy = Static<typeof InstanceBackupPolicy>

export const InstanceBackupPolicyBody = Type.Object({
  destinationId: Id,
  cronExpression: Type.Optional(text(200, 1)),
  timezone: Type.Optional(text(64, 1)),
  retainCount: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
  content: Type.Optional(InstanceBackupContent),
})
export type InstanceBackupPolicyBody = Static<typeof InstanceBackupPolicyBody>

export const InstanceBackupBody = Type.Object({
  destinationId: Type.Optional(Id),
  content: Type.Optional(InstanceBackupContent),
})
export type InstanceBackupBody = Static<typeof InstanceBackupBody>

/** A backup of the instance. `succeeded` means that it was read back, decrypted and compared with the sent bytes. */
export const InstanceBackup = Type.Object({
  id: Id,
  destinationId: nullable(Id),
  status: oneOf('queued', 'running', 'succeeded', 'failed'),
  trigger: oneOf('schedule', 'manual'),
  content: InstanceBackupContent,
  objectName: Type.String(),
  bytesDone: Type.Integer(),
  sizeBytes: nullable(Type.Integer()),
  error: nullable(BackupFailure),
  createdAt: Time,
  startedAt: nullable(Time),
  finishedAt: nullable(Time),
})
export type InstanceBackup = Static<typeof InstanceBackup>
