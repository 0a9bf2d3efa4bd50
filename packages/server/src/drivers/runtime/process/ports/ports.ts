import { createServer } from 'node:net'

const maxRemembered = 4096
const maxTries = 100

/**
 * Ports for instances. Every start gets a port that no instance had recently, not even the same one. A client with an
 * outdated address finds no listener or an unrelated program, and never another project.
 */
export class Ports {
  /** Assigned ports, oldest first. */
  readonly #assigned = new Set<number>()

  constructor(known: Iterable<number | null>) {
    for (const port of known) if (port !== null) this.#assigned.add(port)
  }

  async next(): Promise<number> {
    for (let tries = 0; tries < maxTries; tries++) {
      const port = await freePort()
      if (this.#assigned.has(port)) continue
      this.#assigned.add(port)
      for (const oldest of this.#assigned) {
        if (this.#assigned.size <= maxRemembered) break
        this.#assigned.delete(oldest)
      }
      return port
    }
    throw new Error('no port is free on 127.0.0.1 that was not in use a moment ago')
  }
}

/** A port that is currently free. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}
