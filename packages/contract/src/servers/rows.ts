import { route } from '../route.ts'
import { data, list, PageQuery } from '../shape.ts'
import { Server, ServerBody, ServerChanges, ServerCheck } from './shapes.ts'

/** Machines reached over SSH, whose host keys are pinned. */
export const servers = {
  list: route('GET /servers', {
    summary: "The organisation's servers",
    permission: 'server:list',
    query: PageQuery,
    returns: list(Server),
  }),
  create: route('POST /servers', {
    summary: 'Record a server; nothing is contacted yet',
    permission: 'server:write',
    body: ServerBody,
    returns: data(Server),
    status: 201,
  }),
  get: route('GET /servers/:id', {
    summary: 'One server',
    permission: 'server:read',
    on: 'server',
    returns: data(Server),
  }),
  update: route('PATCH /servers/:id', {
    summary: 'Change a server; omitted secrets are kept',
    permission: 'server:write',
    on: 'server',
    body: ServerChanges,
    returns: data(Server),
    errors: ['conflict'],
  }),
  remove: route('DELETE /servers/:id', {
    summary: 'Remove a server that no project uses; nothing on the server changes',
    permission: 'server:admin',
    on: 'server',
    status: 204,
    errors: ['server_in_use'],
  }),
  check: route('POST /servers/:id/check', {
    summary: 'Check the SSH login and Docker; pins the host key at the first connection and rejects a changed one',
    permission: 'server:write',
    on: 'server',
    returns: data(ServerCheck),
    errors: ['server_unreachable'],
  }),
}
