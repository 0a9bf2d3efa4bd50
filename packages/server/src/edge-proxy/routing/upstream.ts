import net from 'node:net'
import { checkListener } from '../../platform/listener/listener-check.ts'
import type { ListenerOwner } from '../../platform/listener/listener-owner.ts'
import type { EdgeUpstream } from '../protocol/edge-table.ts'

/** The handler of the request on an upstream connection. */
export interface UpstreamUser {
  upstreamConnected(): void
  /** The bytes are valid only during the call. */
  upstreamData(bytes: Buffer): void
  upstreamDrained(): void
  /** The upstream has closed its sending side without an error. */
  upstreamEnded(): void
  /** The connection is closed, with or without an error; no other event follows. */
  upstreamClosed(): void
}

/** A connection that was idle for longer may be closing at the upstream; only repeatable requests use it. */
const trustedIdleMs = 1_000
/** Node's own servers close after 5 s; without a Keep-Alive header the edge closes earlier than that. */
const defaultIdleMs = 4_000
const maxIdle = 512

/** A running replica of a deployment: its address, its idle connections and its requests in progress. */
export class Upstream {
  readonly id: string
  readonly host: string
  readonly port: number
  readonly listener: ListenerOwner | undefined
  /** Counted from the choice of this upstream on, so that a drain includes a request that is still connecting. */
  inFlight = 0
  /** Other replicas are tried first until then, because this one refused a connection. */
  avoidUntil = 0
  #isDeactivated = false
  readonly #idle: UpstreamConnection[] = []
  readonly #drainWaiters = new Set<() => void>()

  constructor(upstream: EdgeUpstream) {
    this.id = upstream.id
    this.host = upstream.host
    this.port = upstream.port
    this.listener = upstream.listener
  }

  /** An idle connection if there is a usable one, otherwise a new one that is still connecting. */
  acquire(user: UpstreamUser, now: number, isRepeatable: boolean, needsNew: boolean): UpstreamConnection {
    while (!needsNew && this.#idle.length > 0) {
      const connection = this.#idle.at(-1)!
      if (!connection.isUsable || now > connection.idleUntil) {
        this.#idle.pop()
        connection.destroy()
        continue
      }
      if (!isRepeatable && now - connection.idleSince > trustedIdleMs) break
      this.#idle.pop()
      connection.user = user
      connection.isReused = true
      return connection
    }
    return new UpstreamConnection(this, user)
  }

  /** Returns a connection to the pool after a complete response. */
  release(connection: UpstreamConnection, keepAliveMs: number, now: number): void {
    connection.user = undefined
    if (this.#isDeactivated || !connection.isUsable || this.#idle.length >= maxIdle) {
      connection.destroy()
      return
    }
    connection.idleSince = now
    // A second before the upstream's own limit: the request must arrive in time.
    const idleMs = keepAliveMs > 0 ? Math.min(keepAliveMs - 1_000, 60_000) : defaultIdleMs
    connection.idleUntil = now + idleMs
    if (idleMs > 0) this.#idle.push(connection)
    else connection.destroy()
  }

  removeIdle(connection: UpstreamConnection): void {
    const at = this.#idle.lastIndexOf(connection)
    if (at !== -1) this.#idle.splice(at, 1)
  }

  begin(): void {
    this.inFlight += 1
  }

  finish(): void {
    this.inFlight -= 1
    if (this.inFlight === 0) for (const resolve of [...this.#drainWaiters]) resolve()
  }

  /** Called when no table names it any more: closes idle connections; requests in progress continue. */
  deactivate(): void {
    this.#isDeactivated = true
    for (const connection of this.#idle.splice(0)) connection.destroy()
  }

  activate(): void {
    this.#isDeactivated = false
  }

  sweep(now: number): void {
    while (this.#idle.length > 0 && now > this.#idle[0]!.idleUntil) this.#idle.shift()!.destroy()
  }

  /** Resolves with the number of requests left: 0, or more at the time limit. */
  waitForDrain(timeoutMs: number): Promise<number> {
    if (this.inFlight === 0) return Promise.resolve(0)
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        this.#drainWaiters.delete(done)
        resolve(this.inFlight)
      }
      const timer = setTimeout(done, timeoutMs)
      this.#drainWaiters.add(done)
    })
  }
}

/** All upstreams are read into this buffer: bytes are processed, and copied if they must be kept, before the next read. */
const readBuffer = Buffer.allocUnsafeSlow(65_536)

/** A socket to an upstream, used by one request at a time. */
export class UpstreamConnection {
  readonly upstream: Upstream
  readonly socket: net.Socket
  user: UpstreamUser | undefined
  isReused = false
  isConnected = false
  idleSince = 0
  idleUntil = 0
  #isPaused = false

  constructor(upstream: Upstream, user: UpstreamUser) {
    this.upstream = upstream
    this.user = user
    this.socket = net.connect({
      host: upstream.host,
      port: upstream.port,
      noDelay: true,
      allowHalfOpen: true,
      onread: { buffer: readBuffer, callback: (length) => this.#receive(readBuffer.subarray(0, length)) },
    })
    this.socket.on('connect', () => {
      if (upstream.listener) checkListener(upstream, upstream.listener, (isExpected) => this.#open(isExpected))
      else this.#open(true)
    })
    this.socket.on('drain', () => this.user?.upstreamDrained())
    this.socket.on('end', () => {
      if (this.user) this.user.upstreamEnded()
      else this.destroy()
    })
    this.socket.on('error', ignore)
    this.socket.on('close', () => {
      upstream.removeIdle(this)
      const { user } = this
      this.user = undefined
      user?.upstreamClosed()
    })
  }

  /** A foreign listener at the upstream's address is treated as a refused connection. */
  #open(isExpected: boolean): void {
    if (this.socket.destroyed) return
    if (!isExpected) {
      this.socket.destroy()
      return
    }
    this.isConnected = true
    this.user?.upstreamConnected()
  }

  #receive(bytes: Buffer): boolean {
    // Bytes sent before the request are not a response, and may come from a foreign listener.
    if (!this.isConnected) {
      this.socket.destroy()
      return true
    }
    // An idle upstream must not send: the bytes belong to no request.
    if (!this.user) {
      this.destroy()
      return true
    }
    try {
      this.user.upstreamData(bytes)
    } catch (cause) {
      // An error in the edge's own code fails this request, not the edge.
      console.error(new Date().toISOString(), 'edge: unexpected error, upstream connection closed:', cause)
      this.socket.destroy()
    }
    return true
  }

  get isUsable(): boolean {
    return this.isConnected && !this.socket.destroyed && this.socket.readable && this.socket.writable
  }

  pause(): void {
    this.#isPaused = true
    this.socket.pause()
  }

  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.socket.resume()
  }

  /** Clears the user first: a caller that destroys a connection must not be notified of its close. */
  destroy(): void {
    this.user = undefined
    this.socket.destroy()
  }
}

/** The close event follows every error and is handled instead. */
const ignore = () => {}
