import { type Static, Type } from 'typebox'
import { DomainName, Id, oneOf, Time } from '../shape.ts'
import { tlsStates } from '../states.ts'

export const DnsRecord = Type.Object({ type: oneOf('A', 'AAAA', 'CNAME', 'TXT'), name: Type.String(), value: Type.String() })
export const Domain = Type.Object({
  id: Id,
  projectId: Id,
  hostname: Type.String(),
  primary: Type.Boolean(),
  tls: oneOf(...tlsStates),
  state: oneOf('synced', 'pending', 'error'),
  reason: Type.Optional(Type.String()),
  dnsRecords: Type.Array(DnsRecord),
  createdAt: Time,
})
export type Domain = Static<typeof Domain>
export const ConnectDomain = Type.Object({ domain: DomainName })
