import type { IncomingMessage } from 'node:http'

const restTimeoutMs = 30_000

/** What an early answer left of an upload is read and dropped, or the connection would never be free again; not for ever. */
export function readRest(body: IncomingMessage): void {
  if (body.complete || body.destroyed) return
  const timeout = setTimeout(() => body.destroy(), restTimeoutMs)
  body.once('close', () => clearTimeout(timeout)).unpipe()
  body.resume()
}
