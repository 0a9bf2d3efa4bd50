import { Type } from 'typebox'
import { route } from '../route.ts'
import { data, wholeList } from '../shape.ts'
import { Arrival, ArrivalBody, ArrivalChange, Departure, DepartureBody, DepartureChange, OpenEnd } from './shapes.ts'

/** The maximum size of a file in a bundle: a part has some MiB, the list of all parts of a very large volume more. */
export const bundleFileBytes = 64 * 1024 * 1024

const ofTransfer = { permission: 'project:admin' as const, errors: ['not_found', 'conflict'] as const }

/**
 * Source and target of a move: a project departs from one instance and arrives at another. Only the client that started a side
 * drives it: the self-hosted instance for a transfer, the CLI for a bundle file. Any user who may move projects can cancel it,
 * since the driving client may be gone.
 */
export const transfers = {
  list: route('GET /transfers', {
    summary: 'Moves, exports and imports that are not over on this side, the oldest first',
    permission: 'project:admin',
    returns: wholeList(OpenEnd),
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
    body: DepartureBody,
    returns: data(Departure),
    status: 202,
    errors: ['work_in_progress', 'conflict'],
  }),
  getDeparture: route('GET /departures/:id', {
    ...ofTransfer,
    summary: 'How far the packing is, and which files there are to fetch',
    returns: data(Departure),
  }),
  changeDeparture: route('PATCH /departures/:id', {
    ...ofTransfer,
    summary: 'Stop the project and pack what changed, give it away for good, or keep it',
    body: DepartureChange,
    returns: data(Departure),
  }),
  readFile: route('GET /departures/:id/files/:file', {
    ...ofTransfer,
    summary: 'One encrypted file of the bundle',
    bytes: true,
  }),
  arrive: route('PUT /arrivals/:id', {
    ...ofTransfer,
    summary: 'Open an arrival: whom to encrypt the bundle to',
    body: ArrivalBody,
    returns: data(Arrival),
    errors: ['already_there', 'conflict'],
  }),
  getArrival: route('GET /arrivals/:id', {
    ...ofTransfer,
    summary: 'How far the arrival is, and which files have arrived',
    returns: data(Arrival),
  }),
  changeArrival: route('PATCH /arrivals/:id', {
    ...ofTransfer,
    summary: 'Record and build what arrived, start it, give it its route, or forget it',
    body: ArrivalChange,
    returns: data(Arrival),
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
