import { type contract, terminalRestore } from '@berth/contract'
import type { Handlers } from '../../../http/handler.ts'
import { streamRow } from '../../../http/row-stream.ts'
import { listResponse } from '../../../platform/db/pages.ts'
import { findBySubject } from '../../projects/index.ts'
import type { BackupsDeps } from '../deps.ts'
import { applyWithToken, cancelRestore } from './apply.ts'
import { restoreTopic } from './move-restore.ts'
import { prepareRestore } from './prepare.ts'
import { findRestore, listRestores } from './restore-store.ts'
import { showRestore, transitionOf } from './show-restore.ts'

const undoingWarning =
  'The cancellation is accepted. The previous data is being put back: the restore is cancelled once that is done.'

type RestoreRows = 'listRestores' | 'prepareRestore' | 'applyRestore' | 'cancelRestore' | 'getRestore' | 'streamRestore'

export function restoreHandlers(deps: BackupsDeps): Pick<Handlers<typeof contract.backups>, RestoreRows> {
  return {
    prepareRestore: async ({ body }, { backupRun, caller, audit }) => {
      audit({ objectKind: 'backupRestore', made: 'rst' })
      const { restore, confirmationToken } = await prepareRestore(backupRun, body ?? {}, caller.userId, deps)
      return { data: { restoreId: restore.id, confirmationToken } }
    },
    applyRestore: async ({ body }, { backupRestore }) => ({
      data: showRestore(await applyWithToken(backupRestore, body.confirmationToken, deps)),
    }),
    cancelRestore: async (_, { backupRestore }) => {
      const data = showRestore(await cancelRestore(backupRestore, deps))
      return { data, ...(data.status === 'cancelled' ? {} : { warnings: [undoingWarning] }) }
    },
    listRestores: async ({ query }, { savedProject, caller: { organizationId } }) =>
      listResponse(await listRestores(deps.database.db, { organizationId, projectId: savedProject.id }, query), showRestore),
    getRestore: (_, { backupRestore }) => ({ data: showRestore(backupRestore) }),
    streamRestore: async (_, { backupRestore, stream }) => {
      await streamRow(stream, deps.database.signals, {
        topic: restoreTopic(backupRestore.id),
        read: async () => {
          // Read in this order: the end of the operation and the last change of the row are one commit.
          const isUnderWay = (await findBySubject(deps.database.db, backupRestore.id)) !== undefined
          return { isUnderWay, row: (await findRestore(deps.database.db, backupRestore.id)) ?? backupRestore }
        },
        show: ({ row }) => showRestore(row),
        stateOf: ({ row }) => transitionOf(row),
        isSame: (one, other) => one.status === other.status && one.verification.status === other.verification.status,
        // A cancelled restore continues to change the project until the old data is back.
        isTerminal: ({ row, isUnderWay }) => terminalRestore.has(row.status) && !isUnderWay,
      })
      return undefined
    },
  }
}
