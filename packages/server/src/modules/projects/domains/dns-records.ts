import { isIPv4 } from 'node:net'
import type { Domain } from '@berth/contract'
import type { ProjectsDeps } from '../deps.ts'
import { isAddress, isBelow } from '../hostnames/hostnames.ts'

type DnsRecords = Domain['dnsRecords']

/**
 * What to create so that the domain leads here. A CNAME follows the instance when it moves, but the top of a zone
 * (`example.com`) cannot have one, so it gets addresses where they are known. `target` below `localhost` exists in no DNS.
 */
export function dnsRecordsFor(
  hostname: string,
  { target, addresses }: { target: string; addresses: readonly string[] },
): DnsRecords {
  const isTopOfZone = hostname.split('.').length === 2
  const byName = !isTopOfZone && !target.endsWith('.localhost')
  if (byName || addresses.length === 0) return [{ type: 'CNAME', name: hostname, value: target }]
  return addresses.map((value) => ({ type: isIPv4(value) ? 'A' : 'AAAA', name: hostname, value }))
}

/** The address that the settings name, if it leads here from where the domain will be used: a loopback one only does on this machine. */
export function knownAddresses({ settings, publicUrl }: Pick<ProjectsDeps, 'settings' | 'publicUrl'>): string[] {
  const reached = (URL.parse(publicUrl())?.hostname ?? '').replace(/^\[|\]$/g, '')
  const isLocal = isBelow(settings.baseDomain, 'localhost')
  const leadsHere = (host: string) => isAddress(host) && !everyAddress.includes(host) && (isLocal || !loopback.test(host))
  const found = [reached, settings.host].find(leadsHere)
  return found === undefined ? [] : [found]
}

const everyAddress = ['0.0.0.0', '::']
const loopback = /^(127\.|::1$)/
