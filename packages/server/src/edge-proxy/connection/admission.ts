import type net from 'node:net'
import type { Admitted } from '../limits/connection-shares.ts'
import type { ClientConnection } from './client-connection.ts'

/** The place of one socket, from its acceptance on: a handshake that never ends holds one as well. */
export class Admission implements Admitted {
  shareKey = ''
  connection: ClientConnection | undefined
  readonly #socket: net.Socket
  readonly #acceptedAt: number

  constructor(socket: net.Socket, now: number) {
    this.#socket = socket
    this.#acceptedAt = now
  }

  get business(): 0 | 1 | 2 {
    return this.connection?.business ?? 1
  }

  get quietSince(): number {
    return this.connection?.quietSince ?? this.#acceptedAt
  }

  destroy(): void {
    this.connection?.socket.destroy()
    this.#socket.destroy()
  }
}

/** Tells the sockets of one listener apart; the one that TLS gives back has the same two ends. */
export const endsOf = ({ remoteAddress, remotePort, localAddress, localPort }: net.Socket) =>
  `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`
