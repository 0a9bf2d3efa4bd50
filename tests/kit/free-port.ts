import { randomInt } from 'node:crypto'
import { type AddressInfo, createServer, type Server } from 'node:net'

export async function freePort(): Promise<number> {
  const [port] = await freePorts(1)
  return port!
}

/** Free loopback ports that differ from each other: all are kept open until the last one is known. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, listen))
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}

/**
 * Port range below the one for outgoing connections. Test files run in parallel, and a connection of one could take such a port before
 * another test listens there, or while a killed instance is down.
 */
const [lowest, highest] = [12_000, 32_000]

async function listen(): Promise<Server> {
  for (;;) {
    const server = createServer()
    const isFree = await new Promise<boolean>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? resolve(false) : reject(error)))
      server.listen(randomInt(lowest, highest), '127.0.0.1', () => resolve(true))
    })
    if (isFree) return server
  }
}
