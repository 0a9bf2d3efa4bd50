import type { Loaders } from '../../http/handler.ts'
import { ownedProjects } from '../projects/index.ts'
import type { BackupsDeps } from './deps.ts'
import { findDestinationOf } from './destinations/destination-store.ts'
import { findPolicyOf } from './policy-store.ts'
import { findRestoreOf } from './restores/restore-store.ts'
import { findRunOf, hasRuns } from './runs/run-store.ts'

type Kinds = 'savedProject' | 'backupDestination' | 'backupPolicy' | 'backupRun' | 'backupRestore'

/** Loaders of the objects in route paths, within the caller's organisation. */
export const backupsLoaders = ({ database: { db } }: BackupsDeps): Pick<Loaders, Kinds> => ({
  savedProject: async ({ id }, { organizationId }) => {
    const isKnown = (await ownedProjects(db, organizationId, [id!])).has(id!) || (await hasRuns(db, organizationId, id!))
    return isKnown ? { id: id!, projectId: id! } : undefined
  },
  backupDestination: ({ id }, { organizationId }) => findDestinationOf(db, organizationId, id!),
  backupPolicy: ({ policyId, id }, { organizationId }) => findPolicyOf(db, organizationId, (policyId ?? id)!),
  backupRun: ({ runId, id }, { organizationId }) => findRunOf(db, organizationId, (runId ?? id)!),
  backupRestore: ({ restoreId, id }, { organizationId }) => findRestoreOf(db, organizationId, (restoreId ?? id)!),
})
