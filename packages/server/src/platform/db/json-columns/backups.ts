import { BackupPayload, DestinationCheck, RestoredVolume, RestoreReport } from '@berth/contract'
import { Type } from 'typebox'
import type { PolicyRow } from '../tables/backups.ts'
import { jsonColumn, sealedJson } from './json-column.ts'
import { textByName } from './shapes.ts'

export const destinationJson = {
  config: jsonColumn(
    'backupDestinations',
    'config',
    Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()])),
  ),
  secrets: sealedJson('backupDestinations.secrets', textByName),
  lastCheck: jsonColumn('backupDestinations', 'lastCheck', DestinationCheck),
}

export const policyJson = {
  // A policy that is older than one of the fields lacks it.
  payload: jsonColumn('backupPolicies', 'payload', Type.Unsafe<BackupPayload>(Type.Partial(BackupPayload))),
}

export const retiredPolicyJson = {
  policy: jsonColumn(
    'retiredPolicies',
    'policy',
    Type.Unsafe<PolicyRow>(Type.Object({ id: Type.String(), projectId: Type.String(), destinationId: Type.String() })),
  ),
}

export const restoreJson = {
  report: jsonColumn('backupRestores', 'report', RestoreReport),
  copies: jsonColumn('backupRestores', 'copies', Type.Array(RestoredVolume)),
}
