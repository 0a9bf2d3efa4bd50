import type { Duplex } from 'node:stream'
import { DockerSocketTunnel } from './docker-socket-tunnel.ts'
import { openSsh, safeMessage } from './open-ssh.ts'
import { createServerFiles, type ServerFiles } from './server-files.ts'
import type { ServerLink } from './server-link.ts'
import { ServerUnreachable } from './server-unreachable.ts'
import { SshConnection } from './ssh-connection.ts'
import type { SshTarget, SshTargets } from './ssh-target.ts'

const idleMs = 60_000
const firstPauseMs = 1_000
const maxPauseMs = 15_000

interface PoolParts {
  targets: () => SshTargets
  onReconnect(serverId: string): void
  onConnectionCount(change: 1 | -1): void
}

/** Implements `ServerLink`. */
export class SshConnectionPool implements ServerLink {
  readonly files: ServerFiles
  readonly #serverId: string
  readonly #parts: PoolParts
  readonly #closeController = new AbortController()
  #current: Promise<SshConnection> | undefined
  /** The same connection, once it is established. */
  #connected: SshConnection | undefined
  #dockerTunnel: DockerSocketTunnel | undefined
  #disconnects = 0
  #failure: { error: unknown; pauseMs: number; until: number } | undefined
  #usedAt = performance.now()
  #idleTimer: NodeJS.Timeout | undefined
  #wasDisconnected = false

  constructor(serverId: string, parts: PoolParts) {
    this.#serverId = serverId
    this.#parts = parts
    this.files = createServerFiles(async (abort) => (await this.#connection(abort)).sftp(abort))
  }

  async toDocker(abort: AbortSignal): Promise<Duplex> {
    return this.#withConnectionErrors(abort, async () => {
      await this.#connection(abort)
      return (this.#dockerTunnel as DockerSocketTunnel).open(abort)
    })
  }

  async toPort(port: number, abort: AbortSignal, host?: string): Promise<Duplex> {
    return this.#withConnectionErrors(abort, async () => (await this.#connection(abort)).toPort(port, abort, host))
  }

  disconnects = () => this.#disconnects

  retry(): void {
    this.#failure = undefined
  }

  /** Closes connections of older settings; the next call reads the settings again. */
  reset(): void {
    this.retry()
    this.#disconnect()
  }

  close(): void {
    this.#closeController.abort(new ServerUnreachable('unreachable', 'The connection was closed'))
    this.#disconnect()
  }

  /** An error of a call whose connection broke is reported as an unreachable server, whatever the client library calls it. */
  async #withConnectionErrors<T>(abort: AbortSignal, request: () => Promise<T>): Promise<T> {
    const disconnectsBefore = this.#disconnects
    try {
      return await request()
    } catch (error) {
      abort.throwIfAborted()
      if (error instanceof ServerUnreachable || this.#disconnects === disconnectsBefore) throw error
      throw new ServerUnreachable('unreachable', `The connection to the server was lost: ${safeMessage(error)}`, { cause: error })
    }
  }

  async #connection(abort: AbortSignal): Promise<SshConnection> {
    abort.throwIfAborted()
    this.#closeController.signal.throwIfAborted()
    this.#usedAt = performance.now()
    if (this.#failure && performance.now() < this.#failure.until) throw this.#failure.error
    if (!this.#current) {
      const connecting = Promise.withResolvers<SshConnection>()
      this.#current = connecting.promise
      connecting.promise.catch(() => undefined)
      this.#connect(connecting.promise).then(connecting.resolve, connecting.reject)
    }
    const current = this.#current
    const { promise: aborted, reject } = Promise.withResolvers<never>()
    const onAbort = () => reject(abort.reason)
    abort.addEventListener('abort', onAbort, { once: true })
    try {
      return await Promise.race([current, aborted])
    } finally {
      abort.removeEventListener('abort', onAbort)
    }
  }

  /**
   * Opens the connection that all waiting callers share, so no single caller's abort ends it. After a `reset`, its outcome is
   * ignored: it says nothing about the server's current settings.
   */
  async #connect(own: Promise<SshConnection>): Promise<SshConnection> {
    try {
      const target = await this.#parts.targets().find(this.#serverId)
      if (!target) throw new ServerUnreachable('unknown_server', `There is no server ${this.#serverId}`)
      const connection: SshConnection = await this.#openOne(target, () => this.#onLost(connection))
      if (this.#current !== own) return connection
      this.#connected = connection
      this.#dockerTunnel = new DockerSocketTunnel({
        name: target.name,
        socket: target.dockerSocket,
        files: this.files,
        connection: (abort) => this.#connection(abort),
        openAnother: () => this.#openOne(target, () => undefined),
      })
      this.#failure = undefined
      this.#idleTimer ??= setInterval(() => this.#disconnectIfIdle(connection), idleMs / 2).unref()
      if (this.#wasDisconnected) this.#parts.onReconnect(this.#serverId)
      this.#wasDisconnected = false
      return connection
    } catch (error) {
      if (this.#current !== own) throw error
      this.#current = undefined
      this.#wasDisconnected = true
      this.#disconnects++
      const pauseMs = Math.min(maxPauseMs, (this.#failure?.pauseMs ?? firstPauseMs / 2) * 2)
      this.#failure = { error, pauseMs, until: performance.now() + pauseMs }
      throw error
    }
  }

  async #openOne(target: SshTarget, onClose: () => void): Promise<SshConnection> {
    const client = await openSsh(target, this.#closeController.signal)
    this.#parts.onConnectionCount(1)
    return new SshConnection(client, () => {
      this.#parts.onConnectionCount(-1)
      onClose()
    })
  }

  /** Counts a lost connection; one that was closed on purpose does not count. */
  #onLost(connection: SshConnection): void {
    if (this.#connected !== connection) return
    this.#disconnects++
    this.#wasDisconnected = true
    this.#disconnect()
  }

  #disconnectIfIdle(connection: SshConnection): void {
    if (connection.channels > 0 || this.#dockerTunnel?.isBusy || performance.now() - this.#usedAt < idleMs) return
    this.#disconnect()
  }

  #disconnect(): void {
    clearInterval(this.#idleTimer)
    this.#idleTimer = undefined
    this.#dockerTunnel?.close()
    this.#dockerTunnel = undefined
    this.#connected = undefined
    const closing = this.#current
    this.#current = undefined
    closing?.then(
      (connection) => connection.close(),
      () => undefined,
    )
  }
}
