import { clientKey } from '../../platform/address-set.ts'
import type { ClientAddress } from './client-address.ts'

/** A connection from the moment it is accepted, before its TLS handshake ends. */
export interface Admitted {
  /** 0: idle. 1: an incomplete request head, a TLS handshake, or the last response. 2: a request is in progress. */
  readonly business: 0 | 1 | 2
  /** When it became quiet. */
  readonly quietSince: number
  /** The client whose share it counts towards; set by `admit`. */
  shareKey: string
  destroy(): void
}

export interface ShareLimits {
  connections: number
  clientShare: number
  projectShare: number
}

/** The key under which connections of trusted proxies are counted. */
const proxies = ''
/**
 * Share of the connections that are closed at once, so that a flood of new connections does not cause a search for each of them.
 */
const victimsShare = 0.01

/**
 * Limits connections per client: one client may hold only a share of them, and at the limit the quietest connections of the client
 * with the most are closed first. A request in progress is never cut off, so requests have shares too.
 */
export class ConnectionShares {
  readonly #clients = new Map<string, Set<Admitted>>()
  readonly #requests = new Map<string, number>()
  #count = 0
  #allBusyAt = -1

  get count(): number {
    return this.#count
  }

  get clients(): number {
    return this.#clients.size
  }

  /** False if the limit is reached. A `trusted` proxy represents many clients and has no share of its own. */
  admit(connection: Admitted, peer: ClientAddress, trusted: boolean, limits: ShareLimits, now: number): boolean {
    const key = trusted ? proxies : clientKey(peer.key)
    const share = shareOf(limits.connections, limits.clientShare)
    const own = this.#clients.get(key)
    if (!trusted && own && own.size >= share && this.#end(own, victims(share)) === 0) return false
    if (this.#count >= limits.connections && !this.#evict(limits.connections, now)) return false
    connection.shareKey = key
    const mine = this.#clients.get(key) ?? new Set()
    this.#clients.set(key, mine.add(connection))
    this.#count += 1
    return true
  }

  leave(connection: Admitted): void {
    const mine = this.#clients.get(connection.shareKey)
    if (!mine?.delete(connection)) return
    this.#count -= 1
    if (mine.size === 0) this.#clients.delete(connection.shareKey)
  }

  /**
   * Counts a request of a client behind a trusted proxy, whose own connections the edge cannot see. False if the client has reached
   * its share.
   */
  beginRequest(client: ClientAddress, limits: ShareLimits): boolean {
    const key = clientKey(client.key)
    const underWay = this.#requests.get(key) ?? 0
    if (underWay >= shareOf(limits.connections, limits.clientShare)) return false
    this.#requests.set(key, underWay + 1)
    return true
  }

  endRequest(client: ClientAddress): void {
    const key = clientKey(client.key)
    const left = (this.#requests.get(key) ?? 1) - 1
    if (left > 0) this.#requests.set(key, left)
    else this.#requests.delete(key)
  }

  /** Closes idle connections of the client with the most, up to half of them, then of the next client. */
  #evict(connections: number, now: number): boolean {
    // `now` advances only a few times per second: if all connections were busy at this time, do not search again before it
    // advances.
    if (now === this.#allBusyAt) return false
    let wanted = victims(connections)
    for (const mine of [...this.#clients.values()].sort((a, b) => b.size - a.size)) {
      wanted -= this.#end(mine, Math.min(wanted, Math.ceil(mine.size / 2)))
      if (wanted <= 0) break
    }
    if (this.#count >= connections) this.#allBusyAt = now
    return this.#count < connections
  }

  /** Closes up to `wanted` of them: idle ones before those that have begun a request, the quietest first. */
  #end(connections: ReadonlySet<Admitted>, wanted: number): number {
    const quiet = [...connections].filter(({ business }) => business < 2)
    quiet.sort((a, b) => a.business - b.business || a.quietSince - b.quietSince)
    const ended = quiet.slice(0, wanted)
    for (const connection of ended) {
      this.leave(connection)
      connection.destroy()
    }
    return ended.length
  }
}

export const shareOf = (whole: number, share: number) => Math.max(1, Math.floor(whole * share))

const victims = (among: number) => Math.max(1, Math.floor(among * victimsShare))
