import type net from 'node:net'
import type { AdmittedConnection } from '../limits/connection-shares.ts'
import type { ClientConnection } from './client-connection.ts'

/** A socket in the connection count, from its acceptance on: a TLS handshake that never ends is counted too. */
export class Admission implements AdmittedConnection {
  shareKey = ''
  connection: ClientConnection | undefined
  readonly #socket: net.Socket
  readonly #acceptedAt: number

  constructor(socket: net.Socket, now: number) {
    this.#socket = socket
    this.#acceptedAt = now
  }

  get activityLevel(): 0 | 1 | 2 {
    return this.connection?.activityLevel ?? 1
  }

  get quietSince(): number {
    return this.connection?.quietSince ?? this.#acceptedAt
  }

  destroy(): void {
    this.connection?.socket.destroy()
    this.#socket.destroy()
  }
}

/** Identifies a socket by its two addresses. The socket that TLS returns after the handshake has the same addresses. */
export const addressPair = ({ remoteAddress, remotePort, localAddress, localPort }: net.Socket) =>
  `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`
