import { type AddressInfo, createServer, type Server } from 'node:net'

export async function freePort(): Promise<number> {
  const [port] = await freePorts(1)
  return port!
}

/** Ports of loopback that are free and differ from each other: all are held open until the last one is known. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, listen))
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}

function listen(): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => resolve(server))
  })
}
