import { Type } from 'typebox'
import { route } from '../route.ts'
import { data, wholeList } from '../shape.ts'
import { ExportBody, ExportChange, ImportBody, ImportChange, OpenSide, TransferExport, TransferImport } from './shapes.ts'

/** The maximum size of a file in a bundle: a part has some MiB, the list of all parts of a very large volume more. */
export const bundleFileBytes = 64 * 1024 * 1024

const ofTransfer = { permission: 'project:admin' as const, errors: ['not_found', 'conflict'] as const }

/**
 * Source (departure) and target (arrival) of a transfer. Only the client that started a side may use it: the self-hosted instance
 * for a transfer, the CLI for a bundle file. Any user who may transfer projects can cancel it, since that client may have ended.
 */
export const transfers = {
  list: route('GET /transfers', {
    summary: 'Running transfers, exports and imports of this instance, oldest first',
    permission: 'project:admin',
    returns: wholeList(OpenSide),
  }),
  callOff: route('DELETE /transfers/:id', {
    ...ofTransfer,
    summary: 'Cancel a transfer, an export or an import; the project keeps running at its source',
    status: 204,
  }),
  depart: route('POST /projects/:id/departure', {
    confirm: true,
    summary: 'Pack a project for a transfer or an export; it keeps serving',
    permission: 'project:admin',
    on: 'project',
    body: ExportBody,
    returns: data(TransferExport),
    status: 202,
    errors: ['work_in_progress', 'conflict'],
  }),
  getDeparture: route('GET /departures/:id', {
    ...ofTransfer,
    summary: 'Progress of the packing, and the files that can be downloaded',
    returns: data(TransferExport),
  }),
  changeDeparture: route('PATCH /departures/:id', {
    confirm: true,
    ...ofTransfer,
    summary: 'Stop the project and pack the recent changes, complete the transfer, or cancel it',
    body: ExportChange,
    returns: data(TransferExport),
  }),
  readFile: route('GET /departures/:id/files/:file', {
    ...ofTransfer,
    summary: 'One encrypted file of the bundle',
    bytes: true,
  }),
  arrive: route('PUT /arrivals/:id', {
    ...ofTransfer,
    summary: 'Start an import; returns the public key for the bundle',
    body: ImportBody,
    returns: data(TransferImport),
    errors: ['already_there', 'conflict'],
  }),
  getArrival: route('GET /arrivals/:id', {
    ...ofTransfer,
    summary: 'Progress of the import, and the received files',
    returns: data(TransferImport),
  }),
  changeArrival: route('PATCH /arrivals/:id', {
    confirm: true,
    ...ofTransfer,
    summary: 'Build the imported project, start it, activate its route, or cancel the import',
    body: ImportChange,
    returns: data(TransferImport),
  }),
  writeFile: route('PUT /arrivals/:id/files/:file', {
    ...ofTransfer,
    summary: 'One encrypted file of the bundle, as raw bytes',
    query: Type.Object({ sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }) }),
    upload: { contentType: 'application/octet-stream', limitBytes: bundleFileBytes },
    status: 204,
    errors: ['not_found', 'conflict', 'payload_too_large'],
  }),
}
