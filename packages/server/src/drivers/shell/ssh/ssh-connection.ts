import type { Duplex } from 'node:stream'
import type { Client, ClientChannel, SFTPWrapper } from 'ssh2'
import { call } from './server-files.ts'
import { ServerUnreachable } from './server-unreachable.ts'

const maxChannels = 512
const administrativelyProhibited = 1

/** An SSH connection that counts its channels, so that an idle one can be closed. */
export class SshConnection {
  readonly #client: Client
  readonly #waiters: { take(): void }[] = []
  #channelCount = 0
  #sftp: Promise<SFTPWrapper> | undefined
  #isClosed = false

  constructor(client: Client, onClose: () => void) {
    this.#client = client
    client.once('close', () => {
      this.#isClosed = true
      onClose()
    })
  }

  get channels(): number {
    return this.#channelCount
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  toSocket(path: string, abort: AbortSignal): Promise<Duplex> {
    return this.#channel((done) => this.#client.openssh_forwardOutStreamLocal(path, done), abort)
  }

  async toPort(port: number, abort: AbortSignal, host = '127.0.0.1'): Promise<Duplex> {
    try {
      return await this.#channel((done) => this.#client.forwardOut('127.0.0.1', 0, host, port, done), abort)
    } catch (error) {
      if ((error as { reason?: unknown }).reason !== administrativelyProhibited) throw error
      throw new ServerUnreachable(
        'unreachable',
        'The SSH server does not allow port forwarding, so its projects cannot be reached. Set AllowTcpForwarding to yes in its sshd_config.',
        { cause: error },
      )
    }
  }

  /** Runs a fixed command: SSH passes a command to the remote shell, so it must contain no user input. */
  run(command: `docker ${string}`, abort: AbortSignal): Promise<ClientChannel> {
    return this.#channel((done) => this.#client.exec(command, { pty: false }, done), abort) as Promise<ClientChannel>
  }

  sftp(abort: AbortSignal): Promise<SFTPWrapper> {
    this.#sftp ??= call<SFTPWrapper>((done) => this.#client.sftp(done), abort).then(
      (sftp) => {
        // Errors of a request reach its caller; this handles errors without a request.
        sftp.on('error', () => undefined)
        sftp.once('close', () => {
          this.#sftp = undefined
        })
        return sftp
      },
      (error: unknown) => {
        this.#sftp = undefined
        throw error
      },
    )
    return this.#sftp
  }

  close(): void {
    this.#client.end()
    // Closed also when the server does not respond to the disconnect.
    setTimeout(() => this.#client.destroy(), 1_000).unref()
  }

  async #channel(
    open: (done: (error: Error | undefined, channel: ClientChannel) => void) => void,
    abort: AbortSignal,
  ): Promise<Duplex> {
    await this.#acquireSlot(abort)
    let isReleased = false
    const release = () => {
      if (isReleased) return
      isReleased = true
      this.#releaseSlot()
    }
    let hasFailed = false
    try {
      const channel = await call<ClientChannel>((done) => {
        open((error, opened) => {
          // A channel that opens after the timeout is closed again.
          if (opened) opened.once('close', release)
          if (opened && hasFailed) opened.destroy()
          done(error, opened)
        })
      }, abort)
      channel.on('error', () => undefined)
      return channel
    } catch (error) {
      hasFailed = true
      release()
      throw error
    }
  }

  /**
   * Reserves one of the `maxChannels` slots; waits while none is free. A released slot is passed to the first waiter, so that a
   * later caller cannot take it.
   */
  async #acquireSlot(abort: AbortSignal): Promise<void> {
    if (this.#channelCount < maxChannels) {
      this.#channelCount++
      return
    }
    abort.throwIfAborted()
    const waiter: { take(): void } = { take: () => undefined }
    try {
      await call<void>((done) => {
        waiter.take = () => done(null, undefined)
        this.#waiters.push(waiter)
      }, abort)
    } catch (error) {
      const at = this.#waiters.indexOf(waiter)
      // A waiter that received a slot just as it timed out passes it on.
      if (at < 0) this.#releaseSlot()
      else this.#waiters.splice(at, 1)
      throw error
    }
  }

  #releaseSlot(): void {
    const next = this.#waiters.shift()
    if (next) next.take()
    else this.#channelCount--
  }
}
