import { type Static, Type } from 'typebox'
import { DomainName, Id, maybe, nullable, oneOf, Time } from '../shape.ts'
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

/** A host name of a project: the free one, or a connected domain. */
export const ProjectDomain = Type.Object({
  hostname: Type.String(),
  kind: oneOf('free', 'custom'),
  primary: Type.Boolean(),
  verified: Type.Boolean({ description: 'Whether its TXT record was found in DNS; always true for the free host name' }),
  pointsHere: nullable(
    Type.Boolean({
      description: 'Whether the name resolves to this instance; null: not checked yet, or the instance does not know its address',
    }),
  ),
  state: Type.Unsafe<'waiting' | 'active' | 'error'>({
    ...oneOf('waiting', 'active', 'error'),
    description:
      '`waiting`: not verified, or not served yet. `active`: verified and served. `error`: the edge rejected its route',
  }),
  tls: oneOf(...tlsStates),
  records: Type.Array(DnsRecord, { description: 'DNS records to create; empty for the free host name' }),
  reason: maybe,
})
export type ProjectDomain = Static<typeof ProjectDomain>
