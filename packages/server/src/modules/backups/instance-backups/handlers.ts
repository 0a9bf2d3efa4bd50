import type { contract } from '@berth/contract'
import type { Handlers } from '../../../http/handler.ts'
import { listResponse } from '../../../platform/db/pages.ts'
import type { BackupsDeps } from '../deps.ts'
import { findInstancePolicy, listInstanceBackups } from './instance-backup-store.ts'
import { removeInstanceSchedule, saveInstanceSchedule, showInstancePolicy } from './instance-policy.ts'
import { showInstanceBackup, startInstanceBackup } from './start-instance-backup.ts'

type InstanceRows =
  | 'getInstancePolicy'
  | 'saveInstancePolicy'
  | 'removeInstancePolicy'
  | 'listInstanceBackups'
  | 'startInstanceBackup'

const policyObject = { objectKind: 'instanceBackupPolicy', objectId: 'instance' }

export function instanceBackupHandlers(deps: BackupsDeps): Pick<Handlers<typeof contract.backups>, InstanceRows> {
  const { db } = deps.database
  return {
    getInstancePolicy: async () => {
      const policy = await findInstancePolicy(db)
      return { data: policy ? showInstancePolicy(policy, deps.clock.now()) : null }
    },
    saveInstancePolicy: async ({ body }, { caller, audit }) => {
      audit(policyObject)
      return { data: showInstancePolicy(await saveInstanceSchedule(body, caller, deps), deps.clock.now()) }
    },
    removeInstancePolicy: async (_, { audit }) => {
      audit(policyObject)
      await removeInstanceSchedule(deps)
      return undefined
    },
    listInstanceBackups: async ({ query }) => listResponse(await listInstanceBackups(db, query), showInstanceBackup),
    startInstanceBackup: async ({ body }, { caller, audit }) => {
      audit({ objectKind: 'instanceBackup', made: 'ibk' })
      return { data: showInstanceBackup(await startInstanceBackup(body ?? {}, caller.organizationId, deps)) }
    },
  }
}
