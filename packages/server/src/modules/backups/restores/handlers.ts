import { type contract, terminalRestore } from '@berth/contract'
import type { Handlers } from '../../../http/handler.ts'
import { streamRow } from '../../../http/row-stream.ts'
import type { BackupsDeps } from '../deps.ts'
import { applyWithToken, cancelRestore } from './apply.ts'
import { restoreTopic } from './move-restore.ts'
import { prepareRestore } from './prepare.ts'
import { findRestore } from './restore-store.ts'
import { showRestore, transitionOf } from './show-restore.ts'

type RestoreRows = 'prepareRestore' | 'applyRestore' | 'cancelRestore' | 'getRestore' | 'streamRestore'

export function restoreHandlers(deps: BackupsDeps): Pick<Handlers<typeof contract.backups>, RestoreRows> {
  return {
    prepareRestore: async ({ body }, { backupRun, caller, audit }) => {
      const { restore, confirmationToken } = await prepareRestore(backupRun, body ?? {}, caller.userId, deps)
      audit({ objectKind: 'backupRestore', objectId: restore.id })
      return { data: { restoreId: restore.id, confirmationToken } }
    },
    applyRestore: async ({ body }, { backupRestore }) => ({
      data: showRestore(await applyWithToken(backupRestore, body.confirmationToken, deps)),
    }),
    cancelRestore: async (_, { backupRestore }) => ({ data: showRestore(await cancelRestore(backupRestore, deps)) }),
    getRestore: (_, { backupRestore }) => ({ data: showRestore(backupRestore) }),
    streamRestore: async (_, { backupRestore, stream }) => {
      await streamRow(stream, deps.database.signals, {
        topic: restoreTopic(backupRestore.id),
        read: async () => (await findRestore(deps.database.db, backupRestore.id)) ?? backupRestore,
        show: showRestore,
        stateOf: transitionOf,
        isSame: (one, other) => one.status === other.status && one.verification.status === other.verification.status,
        isTerminal: ({ status }) => terminalRestore.has(status),
      })
      return undefined
    },
  }
}
