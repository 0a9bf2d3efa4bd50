import type { CloudTransferRow } from '../../../platform/db/tables/transfers.ts'
import { fail } from '../../../platform/failure.ts'
import { findAnyProject } from '../../projects/index.ts'
import type { TransfersDeps } from '../deps.ts'
import { changeExport, startExport } from '../export/exports.ts'
import { readPacked } from '../export/packed-files.ts'
import { changeImport, openImport } from '../import/imports.ts'
import { storeFile } from '../import/received-files.ts'
import { showImport } from '../import/show-import.ts'
import { findSideOf, showExport } from '../rows/sides.ts'
import type { TransferSource, TransferTarget } from './sides.ts'

/** The source or target on this instance, used as the user who requested the transfer. */
const callerOf = ({ organizationId, createdBy }: CloudTransferRow) => ({ organizationId, userId: createdBy ?? '' })

export function localSource(transfer: CloudTransferRow, deps: TransfersDeps): TransferSource {
  const { id, projectId, withData } = transfer
  const caller = callerOf(transfer)
  const side = () => findSideOf(id, 'departure', caller, deps)
  return {
    async startExport(recipient) {
      const project = (await findAnyProject(deps.database.db, projectId)) ?? fail('not_found')
      const body = { transfer: id, recipient, withData: withData === 1 }
      return showExport(await startExport(project, body, caller.userId, deps))
    },
    get: async () => showExport(await side()),
    change: async (state) => showExport(await changeExport(await side(), state, deps)),
    read: async (file) => readPacked(await side(), file, deps),
  }
}

export function localTarget(transfer: CloudTransferRow, deps: TransfersDeps): TransferTarget {
  const { id, projectId } = transfer
  const caller = callerOf(transfer)
  const side = () => findSideOf(id, 'arrival', caller, deps)
  return {
    openImport: async () => showImport(await openImport(id, { project: projectId }, caller, deps), deps),
    get: async () => showImport(await side(), deps),
    change: async (change) => showImport(await changeImport(await side(), change, deps), deps),
    write: async ({ name, sha256 }, bytes) => storeFile(await side(), name, sha256, bytes, deps),
  }
}
