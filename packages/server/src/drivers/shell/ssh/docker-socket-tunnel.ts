import type { Duplex } from 'node:stream'
import type { ClientChannel } from 'ssh2'
import { messageOf } from './open-ssh.ts'
import { call, FileUnreadable, type ServerFiles } from './server-files.ts'
import { ServerUnreachable } from './server-unreachable.ts'
import type { SshConnection } from './ssh-connection.ts'

/** sshd allows ten sessions per connection by default; one is reserved for files. */
const sessionsPerConnection = 8
const maxConnections = 8
const pingMs = 10_000
const greeting = 'GET /_ping HTTP/1.1\r\nHost: docker\r\nConnection: close\r\n\r\n'

interface DoorParts {
  /** Server name for messages. */
  name: string
  socket: string
  files: ServerFiles
  connection(abort: AbortSignal): Promise<SshConnection>
  /** Opens another connection, for sessions beyond the limit of the first. */
  another(): Promise<SshConnection>
}

/**
 * Connection to a server's Docker engine: its socket, forwarded by the SSH server, or, where forwarding is not allowed, `docker
 * system dial-stdio`, which needs one session per stream.
 */
export class DockerSocketTunnel {
  readonly #parts: DoorParts
  #usesCommand = false
  #others: SshConnection[] = []
  #opening: Promise<void> | undefined
  #trying: Promise<string | null> | undefined

  constructor(parts: DoorParts) {
    this.#parts = parts
  }

  async open(abort: AbortSignal): Promise<Duplex> {
    if (this.#usesCommand) return this.#byCommand(abort)
    const connection = await this.#parts.connection(abort)
    try {
      return await connection.toSocket(this.#parts.socket, abort)
    } catch (error) {
      abort.throwIfAborted()
      if (connection.isClosed || error instanceof ServerUnreachable) throw error
      return this.#otherWay(error, abort)
    }
  }

  /** SSH reports only that the socket could not be opened; the reason is found by examining it as a file. */
  async #otherWay(refusal: unknown, abort: AbortSignal): Promise<Duplex> {
    const { name, socket } = this.#parts
    const state = await this.#stateOfSocket(abort)
    if (state === 'denied') throw this.#denied(refusal)
    this.#trying ??= this.#tryCommand().finally(() => {
      this.#trying = undefined
    })
    const errorKind = await this.#trying
    abort.throwIfAborted()
    if (errorKind === null) {
      this.#usesCommand = true
      return this.#byCommand(abort)
    }
    if (/permission denied/i.test(errorKind)) throw this.#denied(refusal)
    const why =
      state === 'missing'
        ? `there is no ${socket}`
        : state === 'present'
          ? `${socket} does not respond (${errorKind})`
          : errorKind
    throw new ServerUnreachable(
      'docker_not_running',
      `Docker does not run on ${name}: ${why}. Start it, or say where its socket is (dockerSocket)`,
      {
        cause: refusal,
      },
    )
  }

  #denied(cause: unknown): ServerUnreachable {
    const { name, socket } = this.#parts
    const message = `The login on ${name} may not use Docker: ${socket} is closed to it. Add the user to the group that owns the socket (usually docker)`
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

  /** Null when the engine responds that way, else the error message. */
  async #tryCommand(): Promise<string | null> {
    const limit = AbortSignal.timeout(pingMs)
    let channel: ClientChannel | undefined
    try {
      channel = await this.#byCommand(limit)
      return await answerOf(channel, limit)
    } catch (error) {
      return messageOf(error)
    } finally {
      channel?.destroy()
    }
  }

  async #byCommand(abort: AbortSignal): Promise<ClientChannel> {
    const { socket } = this.#parts
    const isUsual = socket === '/var/run/docker.sock' || socket === '/run/docker.sock'
    // The socket path is the only variable part, and contains no shell syntax.
    if (!isUsual && !/^[A-Za-z0-9/._-]+$/.test(socket)) throw new Error(`there is no way to ${socket} but the socket itself`)
    const command = isUsual ? 'docker system dial-stdio' : (`docker --host unix://${socket} system dial-stdio` as const)
    const first = await this.#parts.connection(abort)
    for (;;) {
      this.#others = this.#others.filter(({ isClosed }) => !isClosed)
      const all = [first, ...this.#others]
      const free = all.find(({ channels }) => channels < sessionsPerConnection)
      // Counted as soon as it is requested, so that the next caller sees it.
      if (free) return free.run(command, abort)
      if (all.length >= maxConnections) throw new Error('too many sessions are open to its Docker')
      await this.#oneMore()
    }
  }

  #oneMore(): Promise<void> {
    this.#opening ??= this.#parts
      .another()
      .then((connection) => void this.#others.push(connection))
      .finally(() => {
        this.#opening = undefined
      })
    return this.#opening
  }

  get isBusy(): boolean {
    return this.#others.some(({ channels }) => channels > 0)
  }

  close(): void {
    for (const connection of this.#others.splice(0)) connection.close()
    this.#usesCommand = false
  }
}

const answerBytes = 4_096

async function answerOf(channel: ClientChannel, abort: AbortSignal): Promise<string | null> {
  let reported = ''
  let complaint = ''
  channel.stderr.on('data', (chunk: Buffer) => {
    complaint = (complaint + chunk.toString('utf8')).slice(0, answerBytes)
  })
  await call<void>((done) => {
    channel.on('data', (chunk: Buffer) => {
      reported = (reported + chunk.toString('latin1')).slice(0, answerBytes)
      if (reported.includes('\r\n')) done(null, undefined)
    })
    channel.once('close', () => done(null, undefined))
    channel.write(greeting)
  }, abort)
  return /^HTTP\/1\.\d 200/.test(reported) ? null : messageOf(new Error(complaint || reported || 'it gave no answer'))
}
