import { clientKey } from '../../platform/address-set.ts'
import type { ClientAddress } from './client-address.ts'

/** A connection from the moment it was accepted, before its TLS is settled. */
export interface Admitted {
  /** 0: nothing is under way and it just waits. 1: a head that is not complete, a handshake, a last answer. 2: a request is under way. */
  readonly business: 0 | 1 | 2
  /** Since when it is so. */
  readonly quietSince: number
  /** Set by who admits it: whose share it is part of. */
  shareKey: string
  destroy(): void
}

export interface ShareLimits {
  connections: number
  clientShare: number
  projectShare: number
}

/** Where connections of trusted proxies are counted. */
const proxies = ''
/** So many go at once that who comes in a flood does not make us look at all of them for each. */
const victimsShare = 0.01

/**
 * Connections by client: one client holds a share of them at most, and when it is full the quietest of whoever holds the most
 * go first. What is under way is never cut, which is why that has shares too.
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

  /** False when there is no place; a `trusted` proxy speaks for many clients and has no share of its own. */
  admit(connection: Admitted, peer: ClientAddress, trusted: boolean, limits: ShareLimits, now: number): boolean {
    const key = trusted ? proxies : clientKey(peer.key)
    const share = shareOf(limits.connections, limits.clientShare)
    const own = this.#clients.get(key)
    if (!trusted && own && own.size >= share && this.#end(own, victims(share)) === 0) return false
    if (this.#count >= limits.connections && !this.#makeRoom(limits.connections, now)) return false
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

  /** A client behind a trusted proxy: its connections are not seen, its requests are. False when it has its share under way. */
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

  /** From whoever holds the most, down to half of it, then from the next. */
  #makeRoom(connections: number, now: number): boolean {
    // The time stands still for a moment: once everybody was found busy, nobody is asked again before it moves on.
    if (now === this.#allBusyAt) return false
    let wanted = victims(connections)
    for (const mine of [...this.#clients.values()].sort((a, b) => b.size - a.size)) {
      wanted -= this.#end(mine, Math.min(wanted, Math.ceil(mine.size / 2)))
      if (wanted <= 0) break
    }
    if (this.#count >= connections) this.#allBusyAt = now
    return this.#count < connections
  }

  /** Ends up to `wanted` of them, those that wait before those that have begun something, the quietest first. */
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
