import { route } from '../route.ts'
import { AdoptBody, AdoptReply, ScanBody, ScanReply } from './shapes.ts'

/** The server is named in the body. */
export const migration = {
  scan: route('POST /migration/scan', {
    summary: "Inspect a server's Docker over SSH; changes nothing",
    permission: 'server:write',
    selfHostedOnly: true,
    body: ScanBody,
    names: { serverId: 'server' },
    returns: ScanReply,
    errors: ['not_found', 'server_unreachable'],
  }),
  adopt: route('POST /migration/adopt', {
    summary: 'Record discovered services as a services project; nothing on the server changes',
    permission: 'server:write',
    selfHostedOnly: true,
    body: AdoptBody,
    names: { serverId: 'server' },
    returns: AdoptReply,
    status: 201,
    errors: ['not_found', 'server_unreachable', 'adoption_failed'],
  }),
}
