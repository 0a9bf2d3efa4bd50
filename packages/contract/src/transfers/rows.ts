import { Type } from 'typebox'
import { route } from '../route.ts'
import { data, wholeList } from '../shape.ts'
import { ExportBody, ExportChange, ImportBody, ImportChange, OpenSide, TransferExport, TransferImport } from './shapes.ts'

/** The maximum size of a file in a bundle: a part has some MiB, the list of all parts of a very large volume more. */
export const bundleFileBytes = 64 * 1024 * 1024

const ofTransfer = { permission: 'project:admin' as const, errors: ['not_found', 'conflict'] as const }

/**
 * Source (departure) and target (arrival) of a transfer. Only the client that started a side may use it: the self-hosted instance
 * for a transfer, the CLI for a bundle file. Any user who may transfer projects can cancel it, since that client may be gone.
 */
export const transfers = {
  list: route('GET /transfers', {
    summary: 'Moves, exports and imports that are not over on this side, the oldest first',
    permission: 'project:admin',
    returns: wholeList(OpenSide),
  }),
  callOff: route('DELETE /transfers/:id', {
    ...ofTransfer,
    summary: 'Call off a move, an export or an import; nothing is changed by it, and its project serves where it was',
    status: 204,
  }),
  depart: route('POST /projects/:id/departure', {
    summary: 'Pack a project to be moved or exported; it goes on serving',
    permission: 'project:admin',
    on: 'project',
    body: ExportBody,
    returns: data(TransferExport),
    status: 202,
    errors: ['work_in_progress', 'conflict'],
  }),
  getDeparture: route('GET /departures/:id', {
    ...ofTransfer,
    summary: 'How far the packing is, and which files there are to fetch',
    returns: data(TransferExport),
  }),
  changeDeparture: route('PATCH /departures/:id', {
    ...ofTransfer,
    summary: 'Stop the project and pack what changed, give it away for good, or keep it',
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
    summary: 'Open an arrival: whom to encrypt the bundle to',
    body: ImportBody,
    returns: data(TransferImport),
    errors: ['already_there', 'conflict'],
  }),
  getArrival: route('GET /arrivals/:id', {
    ...ofTransfer,
    summary: 'How far the arrival is, and which files have arrived',
    returns: data(TransferImport),
  }),
  changeArrival: route('PATCH /arrivals/:id', {
    ...ofTransfer,
    summary: 'Record and build what arrived, start it, give it its route, or forget it',
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
