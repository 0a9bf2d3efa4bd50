import { chmod, rm } from 'node:fs/promises'
import net from 'node:net'
import { socketAddress } from '../../platform/socket-path.ts'
import { answerCall, isCall } from '../protocol/calls.ts'
import { JsonLines } from '../protocol/json-lines.ts'

export type Calls = Record<string, (...args: never[]) => unknown>

const maxUnreadBytes = 4_194_304

/** The edge's control socket: a unix socket that only its own user can open. */
export class ControlServer {
  readonly #path: string
  readonly #calls: Calls
  readonly #onAttach: () => void
  readonly #server: net.Server
  readonly #sockets = new Set<net.Socket>()
  #controlPlane: { socket: net.Socket; lines: JsonLines } | undefined
  /** When the last control plane disconnected; initially the start of the edge. */
  detachedSince = Date.now()

  constructor(path: string, calls: Calls, onAttach: () => void) {
    this.#path = path
    this.#calls = calls
    this.#onAttach = onAttach
    this.#server = net.createServer((socket) => this.#accept(socket))
  }

  /** The connection that events are sent to: the control plane that attached last. */
  get connection(): JsonLines | undefined {
    return this.#controlPlane?.lines
  }

  async start(): Promise<void> {
    await rm(this.#path, { force: true })
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(socketAddress(this.#path), resolve)
    })
    await chmod(this.#path, 0o600)
  }

  /** Removes the socket path; existing connections stay open until the process ends. */
  async release(): Promise<void> {
    this.#server.close()
    await rm(this.#path, { force: true })
  }

  end(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  #accept(socket: net.Socket): void {
    this.#sockets.add(socket)
    const lines = new JsonLines(socket, (message) => {
      if (!isCall(message)) return
      if (message.call === 'attach') this.#attach(socket, lines)
      void answerCall(message, this.#calls, (reply) => {
        lines.send(reply)
        // A control plane that does not read the responses is not read from either.
        if (lines.waitingBytes > maxUnreadBytes) socket.pause()
      })
    })
    socket.on('drain', () => socket.resume())
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#sockets.delete(socket)
      if (this.#controlPlane?.socket !== socket) return
      this.#controlPlane = undefined
      this.detachedSince = Date.now()
    })
  }

  #attach(socket: net.Socket, lines: JsonLines): void {
    this.#controlPlane = { socket, lines }
    setImmediate(this.#onAttach)
  }
}
