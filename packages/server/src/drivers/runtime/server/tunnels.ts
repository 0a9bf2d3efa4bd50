import { createHash } from 'node:crypto'
import { createServer, type Server, type Socket } from 'node:net'
import type { ServerLink } from '../../shell/ssh/server-link.ts'
import type { InstanceAddress } from '../runtime.ts'

/** Port range of the tunnels, below the ports that engines and operating systems assign themselves. */
const [lowest, highest] = [10_240, 19_999]
const maxTries = 200
const openTimeoutMs = 15_000
/** Limit per server. A server that reports countless instances must not use up the ports of the others. */
export const maxTunnels = 1_024

interface Remote {
  host: string
  port: number
}

interface Tunnel {
  port: number
  remote: Remote
  server: Server
  sockets: Set<Socket>
}

/**
 * Opens a loopback port on this machine for each instance on a server. Connections go through SSH to the instance's port on
 * the server's loopback, so the port is never exposed to the server's network. The local port is derived from the instance
 * id: after a restart of the control plane the edge finds the instance at the same port, unless another process took it.
 */
export class Tunnels {
  readonly #link: Pick<ServerLink, 'toPort'>
  readonly #open = new Map<string, Promise<Tunnel>>()

  constructor(link: Pick<ServerLink, 'toPort'>) {
    this.#link = link
  }

  async open(instanceId: string, remote: Remote): Promise<InstanceAddress> {
    const opening = this.#open.get(instanceId) ?? this.#listen(instanceId, remote)
    this.#open.set(instanceId, opening)
    try {
      const tunnel = await opening
      tunnel.remote = remote
      const uid = process.getuid?.()
      return { host: '127.0.0.1', port: tunnel.port, ...(uid === undefined ? {} : { listener: { uid } }) }
    } catch (error) {
      this.#open.delete(instanceId)
      throw error
    }
  }

  async close(instanceId: string): Promise<void> {
    const tunnel = await this.#open.get(instanceId)?.catch(() => undefined)
    this.#open.delete(instanceId)
    tunnel?.server.close()
    for (const socket of tunnel?.sockets ?? []) socket.destroy()
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#open.keys()].map((instanceId) => this.close(instanceId)))
  }

  async #listen(instanceId: string, remote: Remote): Promise<Tunnel> {
    if (this.#open.size >= maxTunnels) throw new Error(`the server reports more than ${maxTunnels} instances with a port`)
    for (let tries = 0; tries < maxTries; tries++) {
      const digest = createHash('sha256').update(`${instanceId}/${tries}`).digest()
      const port = lowest + (digest.readUInt32BE(0) % (highest - lowest))
      const tunnel: Tunnel = {
        port,
        remote,
        sockets: new Set(),
        server: createServer({ allowHalfOpen: true, noDelay: true }),
      }
      tunnel.server.on('connection', (socket) => this.#forward(socket, tunnel))
      if (await tryListen(tunnel.server, port)) return tunnel
    }
    throw new Error(`no port from ${lowest} to ${highest} is free on 127.0.0.1`)
  }

  #forward(socket: Socket, { sockets, remote }: Tunnel): void {
    sockets.add(socket)
    const clientClosed = new AbortController()
    socket.on('error', () => undefined)
    socket.once('close', () => {
      sockets.delete(socket)
      clientClosed.abort()
    })
    this.#link.toPort(remote.port, AbortSignal.any([clientClosed.signal, AbortSignal.timeout(openTimeoutMs)]), remote.host).then(
      (stream) => {
        if (socket.destroyed) {
          stream.destroy()
          return
        }
        stream.once('error', () => socket.destroy())
        // A reset instead of an end: the client must not take a truncated response for a complete one.
        stream.once('close', () => (stream.readableEnded ? socket.end() : socket.resetAndDestroy()))
        socket.once('close', () => stream.destroy())
        socket.pipe(stream)
        stream.pipe(socket)
      },
      () => socket.resetAndDestroy(),
    )
  }
}

const tryListen = (server: Server, port: number) =>
  new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => resolve(true))
  })
