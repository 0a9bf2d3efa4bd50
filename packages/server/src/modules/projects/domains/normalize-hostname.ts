import { domainToASCII } from 'node:url'
import { refuse } from '../../../platform/failure.ts'
import type { ProjectsDeps } from '../deps.ts'
import { proofLabel } from '../hostnames/domain-proofs.ts'
import { instanceHostname, isAddress, isWithinDomain } from '../hostnames/hostnames.ts'

const pattern = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/
/** The proof record's name is one label longer. */
const maxLength = 253 - `${proofLabel}.`.length

/**
 * The normalized form of a host name, as browsers send it: lower case, other scripts in ASCII (punycode), no trailing dot.
 * Different spellings of one name become equal.
 */
export function normalizeHostname(text: string): string {
  if (text.includes('*')) refuse('domain', 'must be a single host name. Wildcards are not supported: add each name separately')
  const hostname = domainToASCII(text.replace(/\.$/, ''))
  // Browsers also accept 127.1 and 0x7f.1 as addresses; `domainToASCII` has turned them into dotted form by now.
  if (isAddress(hostname) || isAddress(text)) refuse('domain', 'must be a host name, not an IP address')
  const topLevelDomain = hostname.slice(hostname.lastIndexOf('.') + 1)
  if (!pattern.test(hostname) || /^\d+$/.test(topLevelDomain)) refuse('domain', 'must be a host name such as www.example.com')
  if (hostname.length > maxLength) refuse('domain', `must not be longer than ${maxLength} characters`)
  return hostname
}

/** Refuses host names of the instance, of free project addresses and of the machine itself: no user can connect those. */
export function refuseReserved(hostname: string, { settings, publicUrl }: Pick<ProjectsDeps, 'settings' | 'publicUrl'>): void {
  if (hostname === instanceHostname(publicUrl()) || hostname === settings.host.toLowerCase())
    refuse('domain', 'is the host name of this instance')
  if (isWithinDomain(hostname, settings.baseDomain))
    refuse('domain', `is a subdomain of ${settings.baseDomain}, which Berth assigns`)
  if (isWithinDomain(hostname, 'localhost')) refuse('domain', 'is a localhost name')
}
