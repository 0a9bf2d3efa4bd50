import type { CloudTransferRow } from '../../../platform/db/tables/cloud.ts'
import { fail } from '../../../platform/failure.ts'
import { findAnyProject } from '../../projects/index.ts'
import type { TransferEnds } from '../../transfers/index.ts'
import type { CloudDeps } from '../deps.ts'
import type { ArrivingSide, DepartingSide } from './sides.ts'

/** The source or target on this instance, driven as the user who requested the move. */
const driverOf = ({ organizationId, createdBy }: CloudTransferRow) => ({ organizationId, userId: createdBy ?? '' })

export const localDeparture = (transfer: CloudTransferRow, ends: TransferEnds, { database }: CloudDeps): DepartingSide => {
  const { id, projectId, withData } = transfer
  const driver = driverOf(transfer)
  return {
    async start(recipient) {
      const project = (await findAnyProject(database.db, projectId)) ?? fail('not_found')
      return ends.depart(project, { transfer: id, recipient, withData: withData === 1 }, driver.userId)
    },
    look: () => ends.getDeparture(id, driver),
    change: (state) => ends.changeDeparture(id, driver, state),
    read: (file) => ends.readFile(id, driver, file),
  }
}

export const localArrival = (transfer: CloudTransferRow, ends: TransferEnds): ArrivingSide => {
  const { id, projectId } = transfer
  const driver = driverOf(transfer)
  return {
    open: () => ends.arrive(id, { project: projectId }, driver),
    look: () => ends.getArrival(id, driver),
    change: (change) => ends.changeArrival(id, driver, change),
    write: ({ name, sha256 }, bytes) => ends.writeFile(id, driver, name, sha256, bytes),
  }
}
