import { isIP } from 'node:net'
import { errorMessage } from '../../platform/error-message.ts'
import { reachOf } from '../web-request/address-reach.ts'
import type { Resolve } from '../web-request/resolve.ts'
import { GitUnreachable, RemoteRefused } from './git-errors.ts'

const notPublic = 'is not a public address'

/** Resolver for a service with untrusted users: git may connect to a host only when every address of its name is public. */
export const publicAddresses =
  (resolve: Resolve) =>
  async (host: string, abort: AbortSignal = AbortSignal.timeout(10_000)): Promise<readonly string[]> => {
    refuseNonPublicHost(host)
    const addresses = isIP(host) ? [host] : await lookUp(host, resolve, abort)
    if (addresses.length === 0 || addresses.some((address) => reachOf(address) !== 'public')) throw new RemoteRefused(notPublic)
    return addresses
  }

/**
 * Refuses by the text alone: a private address, the machine's own name, or a spelling that another program may read as an
 * address.
 */
export function refuseNonPublicHost(writtenHost: string): void {
  const host = writtenHost.replace(/^\[|\]$/g, '').toLowerCase()
  if (isIP(host) ? reachOf(host) !== 'public' : isAmbiguousName(host)) throw new RemoteRefused(notPublic)
}

/**
 * `localhost.` and `git.example.` would be resolved by Berth under one name and by git's library under another. A name that
 * ends in a number (`2130706433`, `0x7f.1`, `10.1`) is an address to old resolvers.
 */
function isAmbiguousName(host: string): boolean {
  const last = host.split('.').at(-1) ?? ''
  return !host.includes('.') || last === '' || last === 'localhost' || /^(\d+|0x[0-9a-f]*)$/.test(last)
}

async function lookUp(host: string, resolve: Resolve, abort: AbortSignal): Promise<readonly string[]> {
  try {
    return await resolve(host, abort)
  } catch (error) {
    abort.throwIfAborted()
    throw new GitUnreachable(`${host} is an unknown host name`, errorMessage(error))
  }
}
