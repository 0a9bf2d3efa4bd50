import { SocketAddress } from 'node:net'
import { DnsUnanswered } from '../../../drivers/dns/dns.ts'
import { reachOf } from '../../../drivers/web-request/address-reach.ts'
import type { Db } from '../../../platform/db/schema.ts'
import type { DomainRow } from '../../../platform/db/tables/projects.ts'
import type { ProjectsDeps } from '../deps.ts'
import { freeHostname, isAddress, isWithinDomain } from '../hostnames/hostnames.ts'
import { knownAddresses } from './dns-records.ts'

/** Result of one check: the columns of a claim. */
export type AddressCheck = Pick<DomainRow, 'pointsHere' | 'resolvesTo'>

const unknown: AddressCheck = { pointsHere: null, resolvesTo: null }
const maxShown = 4

/**
 * Checks whether the host name resolves to this instance: to an address of `knownAddresses`, or to one that the base domain's
 * names have. Unknown if this instance does not know its own address; null if no name server answered.
 */
export async function checkAddress(hostname: string, deps: ProjectsDeps, abort: AbortSignal): Promise<AddressCheck | null> {
  try {
    const found = await deps.dns.addresses(hostname, abort)
    if (found.length === 0) return { pointsHere: 0, resolvesTo: '' }
    const own = new Set((await ownAddresses(hostname, deps, abort)).map(canonical))
    if (own.size === 0) return unknown
    if (found.some((address) => own.has(canonical(address)))) return { pointsHere: 1, resolvesTo: null }
    // The operator's name server may know private names, whose addresses are not shown to users.
    const shown = found.filter((address) => reachOf(address) === 'public').slice(0, maxShown)
    return { pointsHere: 0, resolvesTo: (shown.length > 0 ? shown : ['a private address']).join(', ') }
  } catch (error) {
    if (error instanceof DnsUnanswered) return null
    throw error
  }
}

/** The addresses that the records of `dnsRecordsFor` lead to. */
async function ownAddresses(hostname: string, deps: ProjectsDeps, abort: AbortSignal): Promise<readonly string[]> {
  const { baseDomain } = deps.settings
  if (isWithinDomain(baseDomain, 'localhost')) return knownAddresses(deps)
  const targets = (await slugsOf(hostname, deps.database.db)).map((slug) => freeHostname({ slug }, baseDomain))
  const resolved = await Promise.all(targets.map((target) => deps.dns.addresses(target, abort)))
  return [...knownAddresses(deps), ...resolved.flat()]
}

/** Slugs of up to three projects that claim the host name. More are not needed: their names resolve to the same instance. */
async function slugsOf(hostname: string, db: Db): Promise<string[]> {
  const rows = await db
    .selectFrom('domains')
    .innerJoin('projects', 'projects.id', 'domains.projectId')
    .select('projects.slug')
    .where('domains.hostname', '=', hostname)
    .limit(3)
    .execute()
  return rows.map(({ slug }) => slug)
}

const canonical = (address: string): string =>
  address.includes(':') && isAddress(address) ? new SocketAddress({ address, family: 'ipv6' }).address : address

/**
 * Says why the host name does not lead here, and which record to create. Null if the host name leads here or that is unknown. A
 * certificate proves that requests arrive, also through a proxy with an address of its own.
 */
export function addressReason(row: DomainRow, records: readonly DnsRecordText[]): string | null {
  const { hostname, pointsHere, resolvesTo, tls } = row
  const record = records.find(({ type }) => type !== 'TXT')
  if (pointsHere !== 0 || tls === 'active' || !record) return null
  const recordText = `the ${record.type} record ${record.name} with the value ${record.value}`
  if (!resolvesTo) return `${hostname} does not resolve yet: create ${recordText}`
  return `${hostname} resolves to ${resolvesTo}, not to this server: create ${recordText}, unless a proxy of yours answers there`
}

interface DnsRecordText {
  type: string
  name: string
  value: string
}
