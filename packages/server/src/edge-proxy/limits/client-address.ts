import { type AddressKey, type AddressSet, addressKey, bareAddress, plainAddress } from '../../platform/address-set.ts'

export interface ClientAddress {
  /** As written in logs. */
  text: string
  key: AddressKey
}

const unknown: ClientAddress = { text: 'unknown', key: '\0'.repeat(16) }

/** The address at the other end of the connection. */
export function peerAddress(remoteAddress: string | undefined): ClientAddress {
  const text = plainAddress(bareAddress(remoteAddress ?? ''))
  const key = addressKey(text)
  return key === undefined ? unknown : { text, key }
}

/**
 * Whom the request is from. X-Forwarded-For is read from its end, because only what trusted proxies appended is known to be
 * true: the first address that is no trusted proxy is the client.
 */
export function clientAddress(peer: ClientAddress, forwardedFor: string, trusted: AddressSet): ClientAddress {
  if (forwardedFor === '' || trusted.isEmpty || !trusted.has(peer.key)) return peer
  const hops = forwardedFor.split(',')
  let client = peer
  for (let at = hops.length - 1; at >= 0; at -= 1) {
    const hop = plainAddress(bareAddress(hops[at]!.trim()))
    const key = addressKey(hop)
    // Something that is no address ends the part of the list that can be believed.
    if (key === undefined) return client
    client = { text: hop, key }
    if (!trusted.has(key)) return client
  }
  return client
}
