import type { contract } from '@berth/contract'
import type { Handlers } from '../../http/handler.ts'
import { listResponse } from '../../platform/db/pages.ts'
import type { DestinationRow } from '../../platform/db/tables/backups.ts'
import { ownedProjects } from '../projects/index.ts'
import type { BackupsDeps } from './deps.ts'
import { listDestinations } from './destinations/destination-store.ts'
import {
  changeDestination,
  createDestination,
  deleteDestination,
  sameLocationWarnings,
  showDestination,
} from './destinations/destinations.ts'
import { checkDestination } from './destinations/open-store.ts'
import { instanceBackupHandlers } from './instance-backups/handlers.ts'
import { changePolicy, createPolicy, deletePolicy, showPolicies, showPolicy } from './policies/policies.ts'
import { runByWebhook } from './policies/webhook.ts'
import { listPolicies } from './policy-store.ts'
import { restoreHandlers } from './restores/handlers.ts'
import { runHandlers } from './runs/handlers.ts'

type Rows = typeof contract.backups

export const backupsHandlers = (deps: BackupsDeps) => ({
  ...policyHandlers(deps),
  ...runHandlers(deps),
  ...restoreHandlers(deps),
  ...destinationHandlers(deps),
  ...instanceBackupHandlers(deps),
})

type PolicyRows = 'listPolicies' | 'createPolicy' | 'updatePolicy' | 'deletePolicy' | 'receiveWebhook'

function policyHandlers(deps: BackupsDeps): Pick<Handlers<Rows>, PolicyRows> {
  return {
    listPolicies: async ({ query }, { project }) => {
      const { rows, nextCursor } = await listPolicies(deps.database.db, project.id, query)
      return { data: await showPolicies(rows, deps), nextCursor }
    },
    createPolicy: async ({ body }, { project, caller, audit }) => {
      audit({ objectKind: 'backupPolicy', made: 'bkp' })
      const policy = await createPolicy(project, body, caller, deps)
      return { data: await showPolicy(policy, deps) }
    },
    updatePolicy: async ({ body }, { backupPolicy }) => {
      const { policy, ...token } = await changePolicy(backupPolicy, body, deps)
      return { data: { ...(await showPolicy(policy, deps)), ...token } }
    },
    deletePolicy: async (_, { backupPolicy }) => {
      await deletePolicy(backupPolicy, deps)
      return undefined
    },
    receiveWebhook: async (_, context) => ({ data: { runId: await runByWebhook(context, deps) } }),
  }
}

type DestinationRows =
  | 'listDestinations'
  | 'createDestination'
  | 'getDestination'
  | 'updateDestination'
  | 'deleteDestination'
  | 'checkDestination'

function destinationHandlers(deps: BackupsDeps): Pick<Handlers<Rows>, DestinationRows> {
  const showWithWarnings = async (row: DestinationRow) => {
    const warnings = await sameLocationWarnings(row, deps)
    return { data: showDestination(row, deps), ...(warnings.length > 0 ? { warnings } : {}) }
  }
  return {
    listDestinations: async ({ query: { projectId, ...query } }, { caller: { organizationId } }) => {
      const { db } = deps.database
      if (projectId !== undefined && !(await ownedProjects(db, organizationId, [projectId])).has(projectId))
        return (await deps.ports.destinationsInCloud?.(organizationId, { projectId, ...query })) ?? { data: [], nextCursor: null }
      return listResponse(await listDestinations(db, organizationId, query), (row) => showDestination(row, deps))
    },
    createDestination: async ({ body }, { caller, audit }) => {
      audit({ objectKind: 'backupDestination', made: 'bkd' })
      return showWithWarnings(await createDestination(body, caller, deps))
    },
    getDestination: (_, { backupDestination }) => ({ data: showDestination(backupDestination, deps) }),
    updateDestination: async ({ body }, { backupDestination, caller }) =>
      showWithWarnings(await changeDestination(backupDestination, body, caller, deps)),
    deleteDestination: async ({ query: { force = false } }, { backupDestination }) => {
      await deleteDestination(backupDestination, { force }, deps)
      return undefined
    },
    checkDestination: async (_, { backupDestination }) => ({ data: await checkDestination(backupDestination, deps) }),
  }
}
