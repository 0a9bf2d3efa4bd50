import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** Port range below that of outgoing connections, so that a port stays free while its container is restarted. */
const [lowest, highest] = [20_000, 32_000]

/** Finds a free port. `reserved` are the ports of all existing containers. A remote engine reports other conflicts itself. */
export async function freeHostPort(reserved: ReadonlySet<number>, isRemoteEngine = false): Promise<number> {
  for (let tries = 0; tries < 200; tries++) {
    const port = randomInt(lowest, highest)
    if (!reserved.has(port) && (isRemoteEngine || (await isFree(port)))) return port
  }
  throw new Error(`no port from ${lowest} to ${highest} is free on 127.0.0.1`)
}

const isFree = (port: number) =>
  new Promise<boolean>((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
