import type { IncomingMessage } from 'node:http'

const restTimeoutMs = 30_000

/** Reads and discards the rest of an upload after an early response, so that the connection can be reused; limited in time. */
export function readRest(body: IncomingMessage): void {
  if (body.complete || body.destroyed) return
  const timeout = setTimeout(() => body.destroy(), restTimeoutMs)
  body.once('close', () => clearTimeout(timeout)).unpipe()
  body.resume()
}
