import type { Duplex } from 'node:stream'
import type { ClientChannel } from 'ssh2'
import { safeMessage } from './open-ssh.ts'
import { call, FileUnreadable, type ServerFiles } from './server-files.ts'
import { ServerUnreachable } from './server-unreachable.ts'
import type { SshConnection } from './ssh-connection.ts'

/** sshd allows ten sessions per connection by default; one is reserved for files. */
const sessionsPerConnection = 8
const maxConnections = 8
const pingTimeoutMs = 10_000
const pingRequest = 'GET /_ping HTTP/1.1\r\nHost: docker\r\nConnection: close\r\n\r\n'

interface TunnelParts {
  /** Server name for messages. */
  name: string
  socket: string
  files: ServerFiles
  connection(abort: AbortSignal): Promise<SshConnection>
  /** Opens another connection, for sessions beyond the limit of the first. */
  openAnother(): Promise<SshConnection>
}

/**
 * Connection to a server's Docker engine: its socket, forwarded by the SSH server, or, where forwarding is not allowed, `docker
 * system dial-stdio`, which needs one session per stream.
 */
export class DockerSocketTunnel {
  readonly #parts: TunnelParts
  #usesCommand = false
  #extraConnections: SshConnection[] = []
  #opening: Promise<void> | undefined
  #commandTrial: Promise<string | null> | undefined

  constructor(parts: TunnelParts) {
    this.#parts = parts
  }

  async open(abort: AbortSignal): Promise<Duplex> {
    if (this.#usesCommand) return this.#openByCommand(abort)
    const connection = await this.#parts.connection(abort)
    try {
      return await connection.toSocket(this.#parts.socket, abort)
    } catch (error) {
      abort.throwIfAborted()
      if (connection.isClosed || error instanceof ServerUnreachable) throw error
      return this.#fallBackToCommand(error, abort)
    }
  }

  /** SSH reports only that the socket could not be opened; the reason is found by examining it as a file. */
  async #fallBackToCommand(refusal: unknown, abort: AbortSignal): Promise<Duplex> {
    const { name, socket } = this.#parts
    const state = await this.#stateOfSocket(abort)
    if (state === 'denied') throw this.#denied(refusal)
    this.#commandTrial ??= this.#tryCommand().finally(() => {
      this.#commandTrial = undefined
    })
    const failure = await this.#commandTrial
    abort.throwIfAborted()
    if (failure === null) {
      this.#usesCommand = true
      return this.#openByCommand(abort)
    }
    if (/permission denied/i.test(failure)) throw this.#denied(refusal)
    const reason =
      state === 'missing' ? `${socket} does not exist` : state === 'present' ? `${socket} does not respond (${failure})` : failure
    throw new ServerUnreachable(
      'docker_not_running',
      `Docker is not running on ${name}: ${reason}. Start it, or set the path of its socket (dockerSocket)`,
      {
        cause: refusal,
      },
    )
  }

  #denied(cause: unknown): ServerUnreachable {
    const { name, socket } = this.#parts
    const message = `The login on ${name} has no access to Docker: permission denied on ${socket}. Add the user to the group that owns the socket (usually docker)`
    return new ServerUnreachable('docker_denied', message, { cause })
  }

  async #stateOfSocket(abort: AbortSignal): Promise<'missing' | 'denied' | 'present' | 'unknown'> {
    const { files, socket } = this.#parts
    try {
      const found = await files.stat(socket, abort)
      if (!found) return 'missing'
      return found.kind === 'socket' && !(await files.mayUseSocket(socket, abort)) ? 'denied' : 'present'
    } catch (error) {
      abort.throwIfAborted()
      return error instanceof FileUnreadable && error.errorKind === 'denied' ? 'denied' : 'unknown'
    }
  }

  /** Null when the engine responds through the command, else the error message. */
  async #tryCommand(): Promise<string | null> {
    const limit = AbortSignal.timeout(pingTimeoutMs)
    let channel: ClientChannel | undefined
    try {
      channel = await this.#openByCommand(limit)
      return await pingThrough(channel, limit)
    } catch (error) {
      return safeMessage(error)
    } finally {
      channel?.destroy()
    }
  }

  async #openByCommand(abort: AbortSignal): Promise<ClientChannel> {
    const { socket } = this.#parts
    const isDefaultSocket = socket === '/var/run/docker.sock' || socket === '/run/docker.sock'
    // The socket path is the only variable part, and contains no shell syntax.
    if (!isDefaultSocket && !/^[A-Za-z0-9/._-]+$/.test(socket))
      throw new Error(`${socket} can only be reached by forwarding, because its path has special characters`)
    const command = isDefaultSocket ? 'docker system dial-stdio' : (`docker --host unix://${socket} system dial-stdio` as const)
    const first = await this.#parts.connection(abort)
    for (;;) {
      this.#extraConnections = this.#extraConnections.filter(({ isClosed }) => !isClosed)
      const all = [first, ...this.#extraConnections]
      const free = all.find(({ channels }) => channels < sessionsPerConnection)
      // Counted as soon as it is requested, so that the next caller sees it.
      if (free) return free.run(command, abort)
      if (all.length >= maxConnections) throw new Error('too many sessions to the Docker engine are open')
      await this.#addConnection()
    }
  }

  #addConnection(): Promise<void> {
    this.#opening ??= this.#parts
      .openAnother()
      .then((connection) => void this.#extraConnections.push(connection))
      .finally(() => {
        this.#opening = undefined
      })
    return this.#opening
  }

  get isBusy(): boolean {
    return this.#extraConnections.some(({ channels }) => channels > 0)
  }

  close(): void {
    for (const connection of this.#extraConnections.splice(0)) connection.close()
    this.#usesCommand = false
  }
}

const maxReplyBytes = 4_096

async function pingThrough(channel: ClientChannel, abort: AbortSignal): Promise<string | null> {
  let reply = ''
  let stderr = ''
  channel.stderr.on('data', (chunk: Buffer) => {
    stderr = (stderr + chunk.toString('utf8')).slice(0, maxReplyBytes)
  })
  await call<void>((done) => {
    channel.on('data', (chunk: Buffer) => {
      reply = (reply + chunk.toString('latin1')).slice(0, maxReplyBytes)
      if (reply.includes('\r\n')) done(null, undefined)
    })
    channel.once('close', () => done(null, undefined))
    channel.write(pingRequest)
  }, abort)
  return /^HTTP\/1\.\d 200/.test(reply) ? null : safeMessage(new Error(stderr || reply || 'it did not respond'))
}
