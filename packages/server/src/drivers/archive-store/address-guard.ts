import { isIP, type LookupFunction } from 'node:net'
import { reachOf } from '../web-request/address-reach.ts'
import { WebRequestFailed, WebRequestRefused } from '../web-request/failures.ts'
import { isThisMachine } from '../web-request/own-addresses.ts'
import { publicNames, type Resolve, systemNames } from '../web-request/resolve.ts'
import { acceptableAddresses } from '../web-request/web-request.ts'
import { StoreFailure } from './store-failure.ts'

const lookupTimeoutMs = 15_000

export interface AddressGuard {
  /** Resolves a host to its allowed addresses. The result is cached, so that the name cannot change its meaning afterwards. */
  addressesOf(host: string): Promise<readonly string[]>
  /** Lookup function for sockets: returns the result of `addressesOf`. Sockets do not call it for a literal address. */
  readonly lookup: LookupFunction
}

export interface GuardSettings {
  /** Allows the instance's own network. */
  allowPrivate: boolean
  /** Allows this machine: an operator created the destination. */
  allowsLocalAddress: boolean
  resolve?: Resolve
}

/** Creates the guard of one opened destination. Each opening has its own, because a name may change its address in between. */
export function addressGuard({ allowPrivate, allowsLocalAddress, resolve }: GuardSettings): AddressGuard {
  const names = resolve ?? (allowPrivate ? systemNames : publicNames())
  const mayReach = (address: string) => {
    if (!allowsLocalAddress && isThisMachine(address)) return false
    const reach = reachOf(address)
    return reach === 'public' || (allowPrivate && reach === 'inside')
  }
  const refusal = allowPrivate && !allowsLocalAddress ? ownMachineMessage : privateNetworkMessage
  const cache = new Map<string, Promise<readonly string[]>>()

  const addressesOf = (host: string) => {
    const found = cache.get(host) ?? resolveAllowedAddresses(host, names, mayReach, refusal)
    cache.set(host, found)
    // A failed lookup is repeated at the next request.
    found.catch(() => cache.delete(host))
    return found
  }
  return {
    addressesOf,
    lookup(host, { all }, callback) {
      addressesOf(host).then(
        (addresses) => {
          const found = addresses.map((address) => ({ address, family: isIP(address) }))
          if (all) callback(null, found)
          else callback(null, found[0]!.address, found[0]!.family)
        },
        (error: NodeJS.ErrnoException) => callback(error, []),
      )
    },
  }
}

const privateNetworkMessage = (host: string) =>
  `${host} is inside a private or reserved network, where this instance stores no backups`
const ownMachineMessage = (host: string) =>
  `${host} is this machine or reserved: only an operator of the instance may add such a destination`

async function resolveAllowedAddresses(
  host: string,
  resolve: Resolve,
  mayReach: (address: string) => boolean,
  refusal: (host: string) => string,
): Promise<readonly string[]> {
  const url = URL.parse(`http://${isIP(host) === 6 ? `[${host}]` : host}`)
  if (url?.pathname !== '/' || url.port || url.username) throw new StoreFailure('denied', `${host} is not a valid host name`)
  try {
    return await acceptableAddresses(url, resolve, mayReach, AbortSignal.timeout(lookupTimeoutMs))
  } catch (error) {
    if (error instanceof WebRequestRefused) throw new StoreFailure('denied', refusal(host))
    if (error instanceof WebRequestFailed)
      throw new StoreFailure('unreachable', `${error.message}; check its spelling`, { cause: error })
    throw error
  }
}
