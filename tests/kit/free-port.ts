import { randomInt } from 'node:crypto'
import { type AddressInfo, createServer, type ListenOptions, type Server } from 'node:net'

export async function freePort(): Promise<number> {
  const [port] = await freePorts(1)
  return port!
}

/** Returns free loopback ports that differ from each other, and from the ports of every other running test process. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, listen))
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}

/**
 * Port range below that of outgoing connections and below that of the Docker runtime. A test does not listen on its port all the
 * time: its server starts later, and a killed instance is down for a while. No connection or container may take the port meanwhile.
 */
const [lowest, highest] = [12_000, 20_000]

async function listen(): Promise<Server> {
  for (;;) {
    const port = randomInt(lowest, highest)
    const server = (await reserve(port)) && (await listenOn({ port, host: '127.0.0.1' }))
    if (server) return server
  }
}

/**
 * Reserves the port against other test processes until this one ends, with a socket in Linux's abstract namespace, which leaves no
 * file. Returns false if another test has it.
 */
async function reserve(port: number): Promise<boolean> {
  if (process.platform !== 'linux') return true
  const held = await listenOn({ path: `\0berth-test-port-${port}` })
  held?.unref()
  return held !== undefined
}

/** Undefined if the address is in use. */
function listenOn(address: ListenOptions): Promise<Server | undefined> {
  const server = createServer()
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error)))
    server.listen(address, () => resolve(server))
  })
}
