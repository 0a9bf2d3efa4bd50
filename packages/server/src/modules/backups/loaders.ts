import type { Loaders } from '../../http/handler.ts'
import type { BackupsDeps } from './deps.ts'
import { findDestinationOf } from './destinations/destination-store.ts'
import { findPolicyOf } from './policies/policy-store.ts'
import { findRestoreOf } from './restores/restore-store.ts'
import { findRunOf } from './runs/run-store.ts'

type Kinds = 'backupDestination' | 'backupPolicy' | 'backupRun' | 'backupRestore'

/** How the guard finds what the routes name: the organisation's own, or nothing. */
export const backupsLoaders = ({ database: { db } }: BackupsDeps): Pick<Loaders, Kinds> => ({
  backupDestination: ({ id }, { organizationId }) => findDestinationOf(db, organizationId, id!),
  backupPolicy: ({ policyId, id }, { organizationId }) => findPolicyOf(db, organizationId, (policyId ?? id)!),
  backupRun: ({ runId, id }, { organizationId }) => findRunOf(db, organizationId, (runId ?? id)!),
  backupRestore: ({ restoreId, id }, { organizationId }) => findRestoreOf(db, organizationId, (restoreId ?? id)!),
})
