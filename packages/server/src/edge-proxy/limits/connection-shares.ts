import { clientKey } from '../../platform/address-set.ts'
import type { ClientAddress } from './client-address.ts'

/** A connection from the moment it is accepted, before its TLS handshake ends. */
export interface AdmittedConnection {
  /** 0: idle. 1: an incomplete request head, a TLS handshake, or the last response. 2: a request is in progress. */
  readonly activityLevel: 0 | 1 | 2
  /** When the last request ended. */
  readonly quietSince: number
  /** The client whose share this connection counts towards; set by `admit`. */
  shareKey: string
  destroy(): void
}

export interface ShareLimits {
  connections: number
  clientShare: number
  projectShare: number
}

/** The key under which connections of trusted proxies are counted. */
const trustedProxiesKey = ''
/** Share of the connections that is closed together at the limit, so that a flood of new connections needs few searches. */
const evictedShare = 0.01

/**
 * Limits connections per client: one client may hold only a share of them, and at the limit the quietest connections of the client
 * with the most are closed first. A request in progress is never aborted, so requests have shares too.
 */
export class ConnectionShares {
  readonly #clients = new Map<string, Set<AdmittedConnection>>()
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
  admit(connection: AdmittedConnection, peer: ClientAddress, trusted: boolean, limits: ShareLimits, now: number): boolean {
    const key = trusted ? trustedProxiesKey : clientKey(peer.key)
    const share = shareOf(limits.connections, limits.clientShare)
    const clientConnections = this.#clients.get(key)
    if (
      !trusted &&
      clientConnections &&
      clientConnections.size >= share &&
      this.#closeQuietest(clientConnections, evictionCount(share)) === 0
    )
      return false
    if (this.#count >= limits.connections && !this.#evict(limits.connections, now)) return false
    connection.shareKey = key
    const connections = this.#clients.get(key) ?? new Set()
    this.#clients.set(key, connections.add(connection))
    this.#count += 1
    return true
  }

  remove(connection: AdmittedConnection): void {
    const clientConnections = this.#clients.get(connection.shareKey)
    if (!clientConnections?.delete(connection)) return
    this.#count -= 1
    if (clientConnections.size === 0) this.#clients.delete(connection.shareKey)
  }

  /**
   * Counts a request of a client behind a trusted proxy, whose own connections the edge cannot see. False if the client has reached
   * its share.
   */
  beginRequest(client: ClientAddress, limits: ShareLimits): boolean {
    const key = clientKey(client.key)
    const inFlight = this.#requests.get(key) ?? 0
    if (inFlight >= shareOf(limits.connections, limits.clientShare)) return false
    this.#requests.set(key, inFlight + 1)
    return true
  }

  endRequest(client: ClientAddress): void {
    const key = clientKey(client.key)
    const remaining = (this.#requests.get(key) ?? 1) - 1
    if (remaining > 0) this.#requests.set(key, remaining)
    else this.#requests.delete(key)
  }

  /** Closes idle connections of the client with the most, up to half of them, then of the next client. */
  #evict(connections: number, now: number): boolean {
    // `now` advances only a few times per second: if all connections were busy at this time, do not search again before it
    // advances.
    if (now === this.#allBusyAt) return false
    let count = evictionCount(connections)
    for (const clientConnections of [...this.#clients.values()].sort((a, b) => b.size - a.size)) {
      count -= this.#closeQuietest(clientConnections, Math.min(count, Math.ceil(clientConnections.size / 2)))
      if (count <= 0) break
    }
    if (this.#count >= connections) this.#allBusyAt = now
    return this.#count < connections
  }

  /** Closes up to `count` connections: idle ones before those with an incomplete request, the longest quiet first. */
  #closeQuietest(connections: ReadonlySet<AdmittedConnection>, count: number): number {
    const closable = [...connections].filter(({ activityLevel }) => activityLevel < 2)
    closable.sort((a, b) => a.activityLevel - b.activityLevel || a.quietSince - b.quietSince)
    const closed = closable.slice(0, count)
    for (const connection of closed) {
      this.remove(connection)
      connection.destroy()
    }
    return closed.length
  }
}

export const shareOf = (whole: number, share: number) => Math.max(1, Math.floor(whole * share))

const evictionCount = (among: number) => Math.max(1, Math.floor(among * evictedShare))
