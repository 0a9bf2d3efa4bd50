import { route } from '../route.ts'
import { AdoptBody, AdoptQuery, AdoptReply, ScanBody, ScanReply } from './shapes.ts'

/** Adoption of containers that run on a server already. The body names the server. */
export const migration = {
  scan: route('POST /migration/scan', {
    summary: "Inspect a server's Docker over SSH; changes nothing",
    permission: 'server:write',
    selfHostedOnly: true,
    on: 'server',
    inBody: 'serverId',
    body: ScanBody,
    returns: ScanReply,
    errors: ['not_found', 'server_unreachable'],
  }),
  adopt: route('POST /migration/adopt', {
    summary: 'Create a project of type `services` from discovered services; nothing on the server changes',
    permission: 'server:write',
    selfHostedOnly: true,
    on: 'server',
    inBody: 'serverId',
    query: AdoptQuery,
    body: AdoptBody,
    returns: AdoptReply,
    status: 201,
    errors: ['not_found', 'server_unreachable', 'adoption_failed', 'conflict'],
  }),
}
