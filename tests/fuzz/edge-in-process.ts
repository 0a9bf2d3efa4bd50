import { on } from 'node:events'
import net from 'node:net'
import { EdgeWorker } from '../../packages/server/src/edge-proxy/process/worker.ts'

/** An edge worker in this process, and an upstream that records what it receives and sends a given response. */
export class EdgeInProcess {
  readonly #worker = new EdgeWorker({ onWake: () => {}, onCertificateWanted: () => {} })
  readonly #front = net.createServer()
  readonly #upstream = net.createServer((socket) => this.#serve(socket))
  readonly #sockets = new Set<net.Socket>()
  #heard: Buffer[] = []
  #answer: Buffer | undefined

  async start(): Promise<void> {
    this.#worker.serve(this.#front, 'http')
    for (const server of [this.#front, this.#upstream])
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const upstreams = [{ id: 'u', host: '127.0.0.1', port: portOf(this.#upstream) }]
    const target = { kind: 'upstreams' as const, projectId: 'p', deploymentId: 'd', upstreams }
    this.#worker.take({
      token: 't',
      base: null,
      version: 1,
      hosts: [['h', { target }]],
      certificates: [],
      last: true,
      rest: { limits: { requestIdleMs: 300, headTimeoutMs: 300, responseHeadMs: 300, keepAliveMs: 300, responseIdleMs: 300 } },
    })
  }

  /**
   * The bytes that the upstream received on each of its connections, and the response, once the client has sent everything and got
   * its answer.
   */
  async exchange(sent: Buffer, answer?: Buffer): Promise<{ heard: Buffer[]; received: Buffer }> {
    this.#heard = []
    this.#answer = answer
    const parts: Buffer[] = []
    const socket = net.connect(portOf(this.#front), '127.0.0.1')
    socket.on('data', (part) => parts.push(part))
    socket.on('error', () => {})
    await new Promise<void>((resolve) => {
      socket.on('close', () => resolve())
      socket.on('end', () => socket.end())
      socket.write(sent)
    })
    await this.#acceptedAll()
    for (const one of this.#sockets) one.destroy()
    return { heard: this.#heard, received: Buffer.concat(parts) }
  }

  /** Connections are accepted in order: after one more, no connection of this exchange can be mistaken for one of the next. */
  async #acceptedAll(): Promise<void> {
    const last = net.connect(portOf(this.#upstream), '127.0.0.1')
    last.on('error', () => {})
    for await (const [{ remotePort }] of on(this.#upstream, 'connection')) if (remotePort === last.localPort) break
    last.destroy()
  }

  async stop(): Promise<void> {
    await this.#worker.close(0)
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.#upstream.close(resolve))
  }

  #serve(socket: net.Socket): void {
    this.#sockets.add(socket)
    const at = this.#heard.push(Buffer.alloc(0)) - 1
    const heard = this.#heard
    socket.on('error', () => {})
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('data', (part) => {
      heard[at] = Buffer.concat([heard[at]!, part])
      if (this.#answer) socket.end(this.#answer)
      else if (isWhole(heard[at]!)) socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
    })
  }
}

/** Sufficient for an upstream: the edge's own framing is simple. */
function isWhole(bytes: Buffer): boolean {
  const text = bytes.toString('latin1')
  const end = text.indexOf('\r\n\r\n')
  if (end === -1) return false
  const head = text.slice(0, end).toLowerCase()
  if (head.includes('\r\ntransfer-encoding: chunked')) return text.endsWith('\r\n0\r\n\r\n')
  return text.length - end - 4 >= Number(/\r\ncontent-length: (\d+)/.exec(head)?.[1] ?? 0)
}

const portOf = (server: net.Server) => (server.address() as net.AddressInfo).port
