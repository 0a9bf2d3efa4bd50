import type { CloudTransferRow } from '../../../platform/db/tables/transfers.ts'
import { fail } from '../../../platform/failure.ts'
import { findAnyProject } from '../../projects/index.ts'
import type { TransfersDeps } from '../deps.ts'
import { changeDeparture, startDeparture } from '../export/exports.ts'
import { readPacked } from '../export/packed-files.ts'
import { changeArrival, openArrival } from '../import/imports.ts'
import { storeFile } from '../import/received-files.ts'
import { endOf, showArrival, showDeparture } from '../rows/sides.ts'
import type { TransferSource, TransferTarget } from './sides.ts'

/** The source or target on this instance, used as the user who requested the transfer. */
const callerOf = ({ organizationId, createdBy }: CloudTransferRow) => ({ organizationId, userId: createdBy ?? '' })

export function localSource(transfer: CloudTransferRow, deps: TransfersDeps): TransferSource {
  const { id, projectId, withData } = transfer
  const caller = callerOf(transfer)
  const side = () => endOf(id, 'departure', caller, deps)
  return {
    async startExport(recipient) {
      const project = (await findAnyProject(deps.database.db, projectId)) ?? fail('not_found')
      const body = { transfer: id, recipient, withData: withData === 1 }
      return showDeparture(await startDeparture(project, body, caller.userId, deps))
    },
    get: async () => showDeparture(await side()),
    change: async (state) => showDeparture(await changeDeparture(await side(), state, deps)),
    read: async (file) => readPacked(await side(), file, deps),
  }
}

export function localTarget(transfer: CloudTransferRow, deps: TransfersDeps): TransferTarget {
  const { id, projectId } = transfer
  const caller = callerOf(transfer)
  const side = () => endOf(id, 'arrival', caller, deps)
  return {
    openImport: async () => showArrival(await openArrival(id, { project: projectId }, caller, deps), deps),
    get: async () => showArrival(await side(), deps),
    change: async (change) => showArrival(await changeArrival(await side(), change, deps), deps),
    write: async ({ name, sha256 }, bytes) => storeFile(await side(), name, sha256, bytes, deps),
  }
}
