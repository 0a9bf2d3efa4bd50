import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** Below where systems take ports for outgoing connections: a port stays ours while a container is started again. */
const [lowest, highest] = [20_000, 32_000]

/** `reserved` are those of containers that are there, running or not. What else an engine elsewhere has in use it says itself. */
export async function freeHostPort(reserved: ReadonlySet<number>, elsewhere = false): Promise<number> {
  for (let tries = 0; tries < 200; tries++) {
    const port = randomInt(lowest, highest)
    if (!reserved.has(port) && (elsewhere || (await isFree(port)))) return port
  }
  throw new Error(`no port from ${lowest} to ${highest} is free on 127.0.0.1`)
}

const isFree = (port: number) =>
  new Promise<boolean>((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
