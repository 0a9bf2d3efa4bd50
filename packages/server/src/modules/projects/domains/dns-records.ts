import { isIPv4 } from 'node:net'
import type { Domain } from '@berth/contract'
import type { DomainRow, ProjectRow } from '../../../platform/db/tables/projects.ts'
import type { ProjectsDeps } from '../deps.ts'
import { proofRecord } from '../hostnames/domain-proofs.ts'
import { freeHostname, isAddress, isWithinDomain } from '../hostnames/hostnames.ts'

type DnsRecords = Domain['dnsRecords']

/** All DNS records of a connected domain: those that make it resolve here, and the one that proves the claim. */
export const recordsOf = (row: DomainRow, project: Pick<ProjectRow, 'slug'>, deps: ProjectsDeps): DnsRecords => [
  ...dnsRecordsFor(row.hostname, {
    target: freeHostname(project, deps.settings.baseDomain),
    addresses: knownAddresses(deps),
  }),
  proofRecord(row),
]

/**
 * The DNS records that make the domain resolve to this instance. A CNAME follows the instance when it moves, but the zone apex
 * (`example.com`) cannot have one, so it gets A and AAAA records where the addresses are known. A `target` below `localhost`
 * does not exist in public DNS.
 */
export function dnsRecordsFor(
  hostname: string,
  { target, addresses }: { target: string; addresses: readonly string[] },
): DnsRecords {
  const isZoneApex = hostname.split('.').length === 2
  const usesCname = !isZoneApex && !target.endsWith('.localhost')
  if (usesCname || addresses.length === 0) return [{ type: 'CNAME', name: hostname, value: target }]
  return addresses.map((value) => ({ type: isIPv4(value) ? 'A' : 'AAAA', name: hostname, value }))
}

/**
 * The addresses of this machine for DNS: those that the operator has set, else the one in the public URL or the listen address. A
 * loopback address is reachable only from this machine, so it counts only where the projects are below localhost.
 */
export function knownAddresses({ settings, publicUrl }: Pick<ProjectsDeps, 'settings' | 'publicUrl'>): readonly string[] {
  if (settings.publicAddress) return settings.publicAddress
  const publicHost = (URL.parse(publicUrl())?.hostname ?? '').replace(/^\[|\]$/g, '')
  const isLocal = isWithinDomain(settings.baseDomain, 'localhost')
  const isReachable = (host: string) =>
    isAddress(host) && !unspecifiedAddresses.includes(host) && (isLocal || !loopback.test(host))
  const address = [publicHost, settings.host].find(isReachable)
  return address === undefined ? [] : [address]
}

/** The warning about records that lead other machines to themselves. */
export const loopbackWarning = (records: DnsRecords): string | null => {
  const record = records.find(({ type, value }) => type !== 'TXT' && loopback.test(value))
  return record
    ? `${record.value} is reachable only from this machine. Set BERTH_PUBLIC_ADDRESS to the public address of the server`
    : null
}

const unspecifiedAddresses = ['0.0.0.0', '::']
const loopback = /^(127\.|::1$)/
