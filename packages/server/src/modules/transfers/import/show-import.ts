import type { TransferImport } from '@berth/contract'
import { transferEndJson } from '../../../platform/db/json-columns/transfers.ts'
import type { TransferSideRow } from '../../../platform/db/tables/transfers.ts'
import type { TransfersDeps } from '../deps.ts'
import { errorOf } from '../rows/sides.ts'
import { receivedFiles } from './received-files.ts'

export const showImport = async (row: TransferSideRow, deps: TransfersDeps): Promise<TransferImport> => ({
  transfer: row.id,
  projectId: row.projectId,
  state: row.state as TransferImport['state'],
  recipient: row.recipient,
  files: await receivedFiles(row, deps),
  warnings: transferEndJson.warnings(row),
  error: errorOf(row),
})
