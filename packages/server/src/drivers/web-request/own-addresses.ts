import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { isMetadataService, plainAddress } from './address-reach.ts'

/** The address where the host is written as one, else null. */
export const literalAddress = (host: string): string | null => {
  const plain = host.replace(/^\[|\]$/g, '')
  return isIP(plain.replace(/%.*$/, '')) ? plain : null
}

/** Whether an address is this machine, or one that only its operators may reach: loopback, its own addresses, metadata services. */
export function isThisMachine(address: string): boolean {
  // Compared in canonical form: ::ffff:7f00:1 and 0:0:0:0:0:0:0:1 are loopback as well.
  const plain = plainAddress(address.replace(/%.*$/, ''))
  if (plain === null || isMetadataService(plain)) return true
  return loopbackOrLinkLocal.test(plain) || loopbackOrUnspecified.has(plain) || ownAddresses().has(plain)
}

/** 127.0.0.0/8, 0.0.0.0/8, and the link-local networks 169.254.0.0/16 and fe80::/10. */
const loopbackOrLinkLocal = /^(127|0)\.|^169\.254\.|^fe[89ab]/
const loopbackOrUnspecified = new Set(['::', '::1'].map(plainAddress))

const ownAddresses = (): ReadonlySet<string | null> =>
  new Set(
    Object.values(networkInterfaces()).flatMap((all) =>
      (all ?? []).map(({ address }) => plainAddress(address.replace(/%.*$/, ''))),
    ),
  )

/** Checks the name alone, without a DNS query. */
export const isThisMachineByName = (host: string): boolean => {
  const address = literalAddress(host)
  if (address !== null) return isThisMachine(address)
  return /^(localhost|.*\.localhost|ip6-localhost|ip6-loopback)\.?$/i.test(host)
}
