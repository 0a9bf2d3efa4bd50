import type net from 'node:net'

/** JSON values over a stream, one per line. An invalid line ends the connection. */
export class JsonLines {
  readonly #socket: net.Socket
  #parts: Buffer[] = []

  constructor(socket: net.Socket, onMessage: (message: unknown) => void) {
    this.#socket = socket
    socket.on('data', (chunk: Buffer) => this.#take(chunk, onMessage))
  }

  send(message: unknown): void {
    if (this.#socket.writable) this.#socket.write(`${JSON.stringify(message)}\n`)
  }

  /** Sends serialised JSON without copying it; the caller must not change the buffer afterwards. */
  sendAround(before: string, json: Buffer, after: string): void {
    if (!this.#socket.writable) return
    this.#socket.cork()
    this.#socket.write(before)
    this.#socket.write(json)
    this.#socket.write(`${after}\n`)
    this.#socket.uncork()
  }

  /** Bytes that the other side has not read yet. */
  get waitingBytes(): number {
    return this.#socket.writableLength
  }

  #take(chunk: Buffer, onMessage: (message: unknown) => void): void {
    let from = 0
    let end = chunk.indexOf(10)
    while (end !== -1) {
      this.#parts.push(chunk.subarray(from, end))
      const line = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts)
      this.#parts = []
      if (!this.#deliver(line, onMessage)) return
      from = end + 1
      end = chunk.indexOf(10, from)
    }
    if (from < chunk.length) this.#parts.push(chunk.subarray(from))
  }

  #deliver(line: Buffer, onMessage: (message: unknown) => void): boolean {
    let message: unknown
    try {
      message = JSON.parse(line.toString('utf8'))
    } catch {
      this.#socket.destroy()
      return false
    }
    onMessage(message)
    return true
  }
}
