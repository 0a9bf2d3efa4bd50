import { createHash } from 'node:crypto'
import { createServer, type Server, type Socket } from 'node:net'
import type { ServerLink } from '../../shell/ssh/server-link.ts'
import type { InstanceAddress } from '../runtime.ts'

/** Below the ports that engines and systems give out by themselves. */
const [lowest, highest] = [10_240, 19_999]
const triesAtMost = 200
const openMs = 15_000
/** Of one server: one that tells of instances without number must not take the ports of all others. */
export const tunnelsAtMost = 1_024

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
 * A port of this machine's loopback for each instance on a server, from where a connection goes through SSH to the port that
 * the instance has on the server's own loopback: nothing of it is open to the server's network. Which port it is follows from
 * the instance's id, so that after a restart of the control plane it is where the edge knows it, if nobody took it meanwhile.
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
    if (this.#open.size >= tunnelsAtMost) throw new Error(`the server tells of more than ${tunnelsAtMost} instances with a port`)
    for (let tries = 0; tries < triesAtMost; tries++) {
      const digest = createHash('sha256').update(`${instanceId}/${tries}`).digest()
      const port = lowest + (digest.readUInt32BE(0) % (highest - lowest))
      const tunnel: Tunnel = {
        port,
        remote,
        sockets: new Set(),
        server: createServer({ allowHalfOpen: true, noDelay: true }),
      }
      tunnel.server.on('connection', (socket) => this.#pass(socket, tunnel))
      if (await isListening(tunnel.server, port)) return tunnel
    }
    throw new Error(`no port from ${lowest} to ${highest} is free on 127.0.0.1`)
  }

  #pass(socket: Socket, { sockets, remote }: Tunnel): void {
    sockets.add(socket)
    const gone = new AbortController()
    socket.on('error', () => undefined)
    socket.once('close', () => {
      sockets.delete(socket)
      gone.abort()
    })
    this.#link.toPort(remote.port, AbortSignal.any([gone.signal, AbortSignal.timeout(openMs)]), remote.host).then(
      (stream) => {
        if (socket.destroyed) return void stream.destroy()
        stream.once('error', () => socket.destroy())
        // Gone before its end was read: whoever reads here must not take what came for the whole.
        stream.once('close', () => (stream.readableEnded ? socket.end() : socket.resetAndDestroy()))
        socket.once('close', () => stream.destroy())
        socket.pipe(stream)
        stream.pipe(socket)
      },
      () => socket.resetAndDestroy(),
    )
  }
}

const isListening = (server: Server, port: number) =>
  new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => resolve(true))
  })
