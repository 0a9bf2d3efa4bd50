import net from 'node:net'

/** Receives a client's bytes, which are valid only during the call. */
export interface SharedReader {
  onBytes: ((bytes: Buffer) => void) | undefined
}

/** The part of Node's listening handle that accepts connections. */
interface ListeningHandle {
  onconnection?: (status: number, handle: unknown) => void
}

/** All plain clients are read into this buffer: a new one for every read would be allocated and collected for every request. */
const readBuffer = Buffer.allocUnsafeSlow(65_536)

/** The bytes in memory that the next read does not overwrite. Bytes that outlive the call they came with must be owned. */
export const owned = (bytes: Buffer): Buffer => (bytes.buffer === readBuffer.buffer ? Buffer.from(bytes) : bytes)

/**
 * Accepts the connections of a server, with sockets that read into the shared buffer. Node offers such sockets only for outgoing
 * connections, so they are made from the handle that the server would make its own from. If a version of Node has no such handle,
 * `onSocket` receives the server's own sockets, without a reader.
 */
export function acceptShared(server: net.Server, onSocket: (socket: net.Socket, reader?: SharedReader) => void): void {
  server.on('connection', (socket: net.Socket) => onSocket(socket))
  if (server.listening) acceptHandles(server, onSocket)
  else server.once('listening', () => acceptHandles(server, onSocket))
}

function acceptHandles(server: net.Server, onSocket: (socket: net.Socket, reader: SharedReader) => void): void {
  const { _handle: listening } = server as unknown as { _handle?: ListeningHandle | null }
  const own = listening?.onconnection
  if (!listening || typeof own !== 'function') return
  listening.onconnection = function accept(status, handle) {
    if (status || !handle) {
      own.call(listening, status, handle)
      return
    }
    const reader: SharedReader = { onBytes: undefined }
    onSocket(socketOf(handle, reader), reader)
  }
}

function socketOf(handle: unknown, reader: SharedReader): net.Socket {
  const callback = (length: number) => {
    reader.onBytes?.(readBuffer.subarray(0, length))
    return true
  }
  const options = { handle, readable: true, writable: true, onread: { buffer: readBuffer, callback } }
  return new net.Socket(options as net.SocketConstructorOpts)
}
