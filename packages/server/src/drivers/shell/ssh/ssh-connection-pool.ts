import type { Duplex } from 'node:stream'
import { DockerSocketTunnel } from './docker-socket-tunnel.ts'
import { messageOf, openSsh } from './open-ssh.ts'
import { createServerFiles, type ServerFiles } from './server-files.ts'
import type { ServerLink } from './server-link.ts'
import { ServerUnreachable } from './server-unreachable.ts'
import { SshConnection } from './ssh-connection.ts'
import type { SshTarget, SshTargets } from './ssh-target.ts'

const idleMs = 60_000
const firstPauseMs = 1_000
const maxPauseMs = 15_000

interface LinkParts {
  targets: () => SshTargets
  onBack(serverId: string): void
  count(change: 1 | -1): void
}

/** Implements `ServerLink`. */
export class SshConnectionPool implements ServerLink {
  readonly files: ServerFiles
  readonly #serverId: string
  readonly #parts: LinkParts
  readonly #end = new AbortController()
  #current: Promise<SshConnection> | undefined
  /** The same connection, once it is established. */
  #connected: SshConnection | undefined
  #door: DockerSocketTunnel | undefined
  #losses = 0
  #failure: { error: unknown; pauseMs: number; until: number } | undefined
  #usedAt = performance.now()
  #checking: NodeJS.Timeout | undefined
  #wasDisconnected = false

  constructor(serverId: string, parts: LinkParts) {
    this.#serverId = serverId
    this.#parts = parts
    this.files = createServerFiles(async (abort) => (await this.#connection(abort)).sftp(abort))
  }

  async toDocker(abort: AbortSignal): Promise<Duplex> {
    return this.#requested(abort, async () => {
      await this.#connection(abort)
      return (this.#door as DockerSocketTunnel).open(abort)
    })
  }

  async toPort(port: number, abort: AbortSignal, host?: string): Promise<Duplex> {
    return this.#requested(abort, async () => (await this.#connection(abort)).toPort(port, abort, host))
  }

  losses = () => this.#losses

  retry(): void {
    this.#failure = undefined
  }

  /** Closes connections of older settings; the next call reads the settings again. */
  reset(): void {
    this.retry()
    this.#leave()
  }

  close(): void {
    this.#end.abort(new ServerUnreachable('unreachable', 'The connection was closed'))
    this.#leave()
  }

  /** An error of a call whose connection broke is reported as an unreachable server, whatever the client library calls it. */
  async #requested<T>(abort: AbortSignal, request: () => Promise<T>): Promise<T> {
    const before = this.#losses
    try {
      return await request()
    } catch (error) {
      abort.throwIfAborted()
      if (error instanceof ServerUnreachable || this.#losses === before) throw error
      throw new ServerUnreachable('unreachable', `The connection to the server was lost: ${messageOf(error)}`, { cause: error })
    }
  }

  async #connection(abort: AbortSignal): Promise<SshConnection> {
    abort.throwIfAborted()
    this.#end.signal.throwIfAborted()
    this.#usedAt = performance.now()
    if (this.#failure && performance.now() < this.#failure.until) throw this.#failure.error
    if (!this.#current) {
      const made = Promise.withResolvers<SshConnection>()
      this.#current = made.promise
      made.promise.catch(() => undefined)
      this.#connect(made.promise).then(made.resolve, made.reject)
    }
    const connecting = this.#current
    const { promise: given, reject } = Promise.withResolvers<never>()
    const onAbort = () => reject(abort.reason)
    abort.addEventListener('abort', onAbort, { once: true })
    try {
      return await Promise.race([connecting, given])
    } finally {
      abort.removeEventListener('abort', onAbort)
    }
  }

  /**
   * Opens the connection that all waiting callers share, so no single caller's abort ends it. After a `reset`, its outcome is
   * ignored: it says nothing about the server's current settings.
   */
  async #connect(made: Promise<SshConnection>): Promise<SshConnection> {
    try {
      const target = await this.#parts.targets().find(this.#serverId)
      if (!target) throw new ServerUnreachable('unknown_server', `There is no server ${this.#serverId}`)
      const connection: SshConnection = await this.#openOne(target, () => this.#lost(connection))
      if (this.#current !== made) return connection
      this.#connected = connection
      this.#door = new DockerSocketTunnel({
        name: target.name,
        socket: target.dockerSocket,
        files: this.files,
        connection: (abort) => this.#connection(abort),
        another: () => this.#openOne(target, () => undefined),
      })
      this.#failure = undefined
      this.#checking ??= setInterval(() => this.#leaveIfIdle(connection), idleMs / 2).unref()
      if (this.#wasDisconnected) this.#parts.onBack(this.#serverId)
      this.#wasDisconnected = false
      return connection
    } catch (error) {
      if (this.#current !== made) throw error
      this.#current = undefined
      this.#wasDisconnected = true
      this.#losses++
      const pauseMs = Math.min(maxPauseMs, (this.#failure?.pauseMs ?? firstPauseMs / 2) * 2)
      this.#failure = { error, pauseMs, until: performance.now() + pauseMs }
      throw error
    }
  }

  async #openOne(target: SshTarget, onClose: () => void): Promise<SshConnection> {
    const client = await openSsh(target, this.#end.signal)
    this.#parts.count(1)
    return new SshConnection(client, () => {
      this.#parts.count(-1)
      onClose()
    })
  }

  /** Counts a lost connection; one that was closed on purpose does not count. */
  #lost(connection: SshConnection): void {
    if (this.#connected !== connection) return
    this.#losses++
    this.#wasDisconnected = true
    this.#leave()
  }

  #leaveIfIdle(connection: SshConnection): void {
    if (connection.channels > 0 || this.#door?.isBusy || performance.now() - this.#usedAt < idleMs) return
    this.#leave()
  }

  #leave(): void {
    clearInterval(this.#checking)
    this.#checking = undefined
    this.#door?.close()
    this.#door = undefined
    this.#connected = undefined
    const leaving = this.#current
    this.#current = undefined
    leaving?.then(
      (connection) => connection.close(),
      () => undefined,
    )
  }
}
