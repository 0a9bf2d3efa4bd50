import { type AddressKey, type AddressSet, addressKey, bareAddress, plainAddress } from '../../platform/address-set.ts'

export interface ClientAddress {
  /** Text form for logs. */
  text: string
  key: AddressKey
}

const unknown: ClientAddress = { text: 'unknown', key: '\0'.repeat(16) }

/** The address of the connection's peer. */
export function peerAddress(remoteAddress: string | undefined): ClientAddress {
  const text = plainAddress(bareAddress(remoteAddress ?? ''))
  const key = addressKey(text)
  return key === undefined ? unknown : { text, key }
}

/**
 * The address of the client. X-Forwarded-For is read from its end, because only the entries that trusted proxies appended are
 * reliable: the first address that is not a trusted proxy is the client.
 */
export function clientAddress(peer: ClientAddress, forwardedFor: string, trusted: AddressSet): ClientAddress {
  if (forwardedFor === '' || trusted.isEmpty || !trusted.has(peer.key)) return peer
  const hops = forwardedFor.split(',')
  let client = peer
  for (let at = hops.length - 1; at >= 0; at -= 1) {
    const hop = plainAddress(bareAddress(hops[at]!.trim()))
    const key = addressKey(hop)
    // An entry that is not an address ends the reliable part of the list.
    if (key === undefined) return client
    client = { text: hop, key }
    if (!trusted.has(key)) return client
  }
  return client
}
