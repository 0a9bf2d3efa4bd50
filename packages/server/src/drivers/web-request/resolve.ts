import { lookup, Resolver } from 'node:dns/promises'

/** All addresses of a name, the preferred one first; rejects with the system's error when there are none. */
export type Resolve = (name: string, abort: AbortSignal) => Promise<readonly string[]>

/**
 * Queries name servers directly. The system's own lookup blocks one of four worker threads until the server answers, so a few slow
 * names from users would block file system access for all.
 */
export function publicNames(servers?: readonly string[]): Resolve {
  return async (name, abort) => {
    const resolver = new Resolver({ timeout: 2_500, tries: 2 })
    if (servers) resolver.setServers(servers)
    const cancel = () => resolver.cancel()
    abort.addEventListener('abort', cancel, { once: true })
    try {
      const [v4, v6] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
      const addresses = [...(v4.status === 'fulfilled' ? v4.value : []), ...(v6.status === 'fulfilled' ? v6.value : [])]
      if (addresses.length === 0 && v4.status === 'rejected') throw v4.reason
      return addresses
    } finally {
      abort.removeEventListener('abort', cancel)
    }
  }
}

/** Resolves a name as the machine does: hosts file, search domains, mDNS. Used where private receivers are allowed. */
export const systemNames: Resolve = async (name) => (await lookup(name, { all: true })).map(({ address }) => address)
