import { domainToASCII } from 'node:url'
import { refuse } from '../../../platform/failure.ts'
import type { ProjectsDeps } from '../deps.ts'
import { proofLabel } from '../hostnames/domain-proofs.ts'
import { instanceHostname, isAddress, isBelow } from '../hostnames/hostnames.ts'

const pattern = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/
/** The name of the record that proves it is longer by a label. */
const longest = 253 - `${proofLabel}.`.length

/**
 * The one way to write a host name, the way in which browsers ask for it: lower case, letters of other scripts in their ASCII
 * form, no dot at the end. Two who write it differently mean the same name.
 */
export function hostnameOf(text: string): string {
  if (text.includes('*')) refuse('domain', 'must be one host name: a wildcard is not served, connect each name by itself')
  const hostname = domainToASCII(text.replace(/\.$/, ''))
  // A browser takes 127.1 and 0x7f.1 for addresses too, and this is where it shows.
  if (isAddress(hostname) || isAddress(text)) refuse('domain', 'must be a host name, not an address')
  const ending = hostname.slice(hostname.lastIndexOf('.') + 1)
  if (!pattern.test(hostname) || /^\d+$/.test(ending)) refuse('domain', 'must be a host name such as www.example.com')
  if (hostname.length > longest) refuse('domain', `must not be longer than ${longest} characters`)
  return hostname
}

/** A host name of the instance, of another project or of the machine itself is nobody's to connect. */
export function refuseReserved(hostname: string, { settings, publicUrl }: Pick<ProjectsDeps, 'settings' | 'publicUrl'>): void {
  if (hostname === instanceHostname(publicUrl()) || hostname === settings.host.toLowerCase())
    refuse('domain', 'is where this instance itself answers')
  if (isBelow(hostname, settings.baseDomain)) refuse('domain', `lies below ${settings.baseDomain}, whose names Berth gives out`)
  if (isBelow(hostname, 'localhost')) refuse('domain', 'lies below localhost, which is every machine itself')
}
