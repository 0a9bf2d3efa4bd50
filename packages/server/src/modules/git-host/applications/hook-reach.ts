import { isIP } from 'node:net'
import { reachOf } from '../../../drivers/web-request/address-reach.ts'

type Reach = 'loopback' | 'private' | 'public'

/**
 * The network from which this name can be reached: any, a private one, or this machine. Decided by its text; nothing is resolved.
 */
function reachOfName(url: string): Reach {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '').toLowerCase()
  if (/(^|\.)localhost$/.test(host) || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))) return 'loopback'
  if (isIP(host)) return reachOf(host) === 'public' ? 'public' : 'private'
  return !host.includes('.') || /\.(local|internal|lan|home\.arpa)$/.test(host) ? 'private' : 'public'
}

/** The reason why the git host cannot deliver to the address, and what to do; null if no reason is known. */
export function unreachableHook(title: string, hostUrl: string, deliveryUrl: string): string | null {
  const [from, to] = [reachOfName(hostUrl), reachOfName(deliveryUrl)]
  const isReachable = to === 'public' || from === 'loopback' || (to === 'private' && from === 'private')
  if (isReachable) return null
  const { origin } = new URL(deliveryUrl)
  const reason = to === 'loopback' ? 'is an address of this machine only' : 'is an address of a private network'
  return `${title} cannot deliver pushes: ${origin} ${reason}. Set BERTH_PUBLIC_URL to an address that ${new URL(hostUrl).host} can reach, and restart.`
}
