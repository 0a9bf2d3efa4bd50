import net from 'node:net'
import { checkListener } from '../../platform/listener/listener-check.ts'
import type { ListenerOwner } from '../../platform/listener/listener-owner.ts'
import type { EdgeUpstream } from '../protocol/edge-table.ts'

/** Whoever has a request on an upstream connection. */
export interface UpstreamUser {
  upstreamConnected(): void
  /** The bytes are only there during the call. */
  upstreamData(bytes: Buffer): void
  upstreamDrained(): void
  /** The upstream has said its last byte in good order. */
  upstreamEnded(): void
  /** The connection is gone, with or without an error; nothing else follows. */
  upstreamClosed(): void
}

/** Connections that were quiet for longer may be closed at the other end just now; only repeatable requests risk them. */
const surelyOpenMs = 1_000
/** Node's own servers close after 5 s; without a word from the upstream we let go before that. */
const idleMsByDefault = 4_000
const idleAtMost = 512

/** One running copy of a deployment: its address, its kept connections and what is under way to it. */
export class Upstream {
  readonly id: string
  readonly host: string
  readonly port: number
  readonly listener: ListenerOwner | undefined
  /** Counted from the choice of this upstream on, so that a drain cannot miss a request that is still connecting. */
  inFlight = 0
  /** Until then siblings are tried first, because it refused a connection. */
  avoidUntil = 0
  #retired = false
  readonly #idle: UpstreamConnection[] = []
  readonly #waiting = new Set<() => void>()

  constructor(upstream: EdgeUpstream) {
    this.id = upstream.id
    this.host = upstream.host
    this.port = upstream.port
    this.listener = upstream.listener
  }

  /** A kept connection if there is a good one, else a fresh one that is still connecting. */
  acquire(user: UpstreamUser, now: number, repeatable: boolean, fresh: boolean): UpstreamConnection {
    while (!fresh && this.#idle.length > 0) {
      const kept = this.#idle.at(-1)!
      if (!kept.usable || now > kept.idleUntil) {
        this.#idle.pop()
        kept.destroy()
        continue
      }
      if (!repeatable && now - kept.idleSince > surelyOpenMs) break
      this.#idle.pop()
      kept.user = user
      kept.reused = true
      return kept
    }
    return new UpstreamConnection(this, user)
  }

  /** Takes back a connection whose answer ended in good order. */
  release(connection: UpstreamConnection, keepAliveMs: number, now: number): void {
    connection.user = undefined
    if (this.#retired || !connection.usable || this.#idle.length >= idleAtMost) {
      connection.destroy()
      return
    }
    connection.idleSince = now
    // A second earlier than the upstream's own limit: the request has to get there in time.
    const idleMs = keepAliveMs > 0 ? Math.min(keepAliveMs - 1_000, 60_000) : idleMsByDefault
    connection.idleUntil = now + idleMs
    if (idleMs > 0) this.#idle.push(connection)
    else connection.destroy()
  }

  forget(connection: UpstreamConnection): void {
    const at = this.#idle.lastIndexOf(connection)
    if (at !== -1) this.#idle.splice(at, 1)
  }

  begin(): void {
    this.inFlight += 1
  }

  finish(): void {
    this.inFlight -= 1
    if (this.inFlight === 0) for (const resolve of [...this.#waiting]) resolve()
  }

  /** No table names it any more: nothing is kept open, what is under way goes on. */
  retire(): void {
    this.#retired = true
    for (const connection of this.#idle.splice(0)) connection.destroy()
  }

  revive(): void {
    this.#retired = false
  }

  sweep(now: number): void {
    while (this.#idle.length > 0 && now > this.#idle[0]!.idleUntil) this.#idle.shift()!.destroy()
  }

  /** Resolves with what is left: 0, or more at the time limit. */
  drained(timeoutMs: number): Promise<number> {
    if (this.inFlight === 0) return Promise.resolve(0)
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        this.#waiting.delete(done)
        resolve(this.inFlight)
      }
      const timer = setTimeout(done, timeoutMs)
      this.#waiting.add(done)
    })
  }
}

/** All upstreams are read into this one place: bytes are looked at, and copied where they have to stay, before the next read. */
const readBuffer = Buffer.allocUnsafeSlow(65_536)

/** One socket to an upstream, used by one request at a time. */
export class UpstreamConnection {
  readonly upstream: Upstream
  readonly socket: net.Socket
  user: UpstreamUser | undefined
  reused = false
  connected = false
  idleSince = 0
  idleUntil = 0
  #paused = false

  constructor(upstream: Upstream, user: UpstreamUser) {
    this.upstream = upstream
    this.user = user
    this.socket = net.connect({
      host: upstream.host,
      port: upstream.port,
      noDelay: true,
      allowHalfOpen: true,
      onread: { buffer: readBuffer, callback: (length) => this.#take(readBuffer.subarray(0, length)) },
    })
    this.socket.on('connect', () => {
      if (upstream.listener) checkListener(upstream, upstream.listener, (isOwn) => this.#open(isOwn))
      else this.#open(true)
    })
    this.socket.on('drain', () => this.user?.upstreamDrained())
    this.socket.on('end', () => {
      if (this.user) this.user.upstreamEnded()
      else this.destroy()
    })
    this.socket.on('error', ignore)
    this.socket.on('close', () => {
      upstream.forget(this)
      const { user } = this
      this.user = undefined
      user?.upstreamClosed()
    })
  }

  /** With a stranger in the upstream's place it is as if nobody was there. */
  #open(isOwn: boolean): void {
    if (this.socket.destroyed) return
    if (!isOwn) {
      this.socket.destroy()
      return
    }
    this.connected = true
    this.user?.upstreamConnected()
  }

  #take(bytes: Buffer): boolean {
    // What is said before anything was asked is no answer, and may be a stranger's.
    if (!this.connected) {
      this.socket.destroy()
      return true
    }
    // An idle upstream has nothing to say: what it sends belongs to no request.
    if (!this.user) {
      this.destroy()
      return true
    }
    try {
      this.user.upstreamData(bytes)
    } catch (cause) {
      // A mistake of ours costs this request, not the edge.
      console.error(new Date().toISOString(), cause)
      this.socket.destroy()
    }
    return true
  }

  get usable(): boolean {
    return this.connected && !this.socket.destroyed && this.socket.readable && this.socket.writable
  }

  pause(): void {
    this.#paused = true
    this.socket.pause()
  }

  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.socket.resume()
  }

  /** Lets go of the user first: who destroys a connection does not want to hear that it closed. */
  destroy(): void {
    this.user = undefined
    this.socket.destroy()
  }
}

/** The close event that follows every error is what counts. */
const ignore = () => {}
