import { BundleFile } from '@berth/contract'
import { Type } from 'typebox'
import { jsonColumn } from './json-column.ts'
import { texts } from './shapes.ts'

export const transferEndJson = {
  files: jsonColumn('transferEnds', 'files', Type.Array(BundleFile)),
  warnings: jsonColumn('transferEnds', 'warnings', texts),
}

export const cloudTransferJson = {
  warnings: jsonColumn('cloudTransfers', 'warnings', texts),
}
