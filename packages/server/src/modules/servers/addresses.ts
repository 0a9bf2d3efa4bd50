import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { ServerAway } from '../../drivers/shell/ssh/server-away.ts'
import { isMetadataService, plainAddress, reachOf } from '../../drivers/web-request/address-reach.ts'
import { publicNames, systemNames } from '../../drivers/web-request/resolve.ts'

type Mode = 'self-hosted' | 'cloud'

/** The address where the host is written as one, else null. */
export const literalAddress = (host: string): string | null => {
  const plain = host.replace(/^\[|\]$/g, '')
  return isIP(plain.replace(/%.*$/, '')) ? plain : null
}

/**
 * Whether an address is this machine, or leads to what only its operators may reach: loopback, its own addresses, metadata
 * services; on the cloud service everything that is not the internet.
 */
export function isOurs(address: string, mode: Mode): boolean {
  const given = address.replace(/%.*$/, '')
  // Judged in one spelling: ::ffff:7f00:1 and 0:0:0:0:0:0:0:1 lead here as well.
  const plain = plainAddress(given)
  if (plain === null || isMetadataService(plain) || (mode === 'cloud' && reachOf(given) !== 'public')) return true
  return /^(127|0)\.|^169\.254\.|^fe[89ab]/.test(plain) || hereOrNowhere.has(plain) || ownAddresses().has(plain)
}

const hereOrNowhere = new Set(['::', '::1'].map(plainAddress))

const ownAddresses = (): ReadonlySet<string | null> =>
  new Set(
    Object.values(networkInterfaces()).flatMap((all) =>
      (all ?? []).map(({ address }) => plainAddress(address.replace(/%.*$/, ''))),
    ),
  )

/** By its name: it can be told without asking anybody. */
export const isOursByName = (host: string, mode: Mode): boolean => {
  const address = literalAddress(host)
  if (address !== null) return isOurs(address, mode)
  return /^(localhost|.*\.localhost|ip6-localhost|ip6-loopback)\.?$/i.test(host)
}

/** One address of a host that this server may be at. It is judged here and connected to as it is. */
export async function judgedAddress(host: string, mayBeHere: boolean, mode: Mode, abort: AbortSignal): Promise<string> {
  const literal = literalAddress(host)
  const resolve = mode === 'cloud' ? publicNames() : systemNames
  const all = literal === null ? await Promise.race([resolve(host, abort), aborted(abort)]) : [literal]
  const good = mayBeHere ? all[0] : all.find((address) => !isOurs(address, mode))
  if (good) return good
  throw new ServerAway(
    'address_refused',
    `${host} is this machine or in its own network: only an operator of the instance may add such a server`,
  )
}

const aborted = (abort: AbortSignal) =>
  new Promise<never>((_, reject) => abort.addEventListener('abort', () => reject(abort.reason), { once: true }))
