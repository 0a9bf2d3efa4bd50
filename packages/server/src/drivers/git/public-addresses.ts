import { isIP } from 'node:net'
import { reachOf } from '../web-request/address-reach.ts'
import type { Resolve } from '../web-request/resolve.ts'
import { RemoteRefused } from './git-errors.ts'

/** For a service that strangers use: git may ask a host only when every address of its name is a public one. */
export const publicAddresses =
  (resolve: Resolve) =>
  async (host: string, abort: AbortSignal = AbortSignal.timeout(10_000)): Promise<readonly string[]> => {
    const addresses = isIP(host) ? [host] : await resolve(host, abort)
    if (addresses.length === 0 || addresses.some((address) => reachOf(address) !== 'public'))
      throw new RemoteRefused('leads to no public network')
    return addresses
  }
