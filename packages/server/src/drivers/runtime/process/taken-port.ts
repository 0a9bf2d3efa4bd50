import { ListeningSockets } from '../../../platform/listener/listening-sockets.ts'

/** How programs say that somebody else listens where they want to. */
const words =
  /EADDRINUSE|address already in use|connection in use|\bport \d+ (?:is|was) (?:already )?(?:in use|taken)|is port \d+ in use/i
const linesAround = 2

/**
 * The port that a program wanted and did not get, by its last words; null when it ended for another reason. A number counts
 * only when somebody does listen there.
 */
export function takenPortIn(output: string, isTaken = somebodyListens()): number | null {
  const lines = output.split('\n')
  for (let at = lines.length - 1; at >= 0; at--) {
    if (!words.test(lines[at] as string)) continue
    const near = [
      lines[at] as string,
      ...lines.slice(at + 1, at + 1 + linesAround),
      ...lines.slice(Math.max(0, at - linesAround), at),
    ]
    const found = near.flatMap(portsIn).find(isTaken)
    if (found !== undefined) return found
  }
  return null
}

const portsIn = (line: string): number[] =>
  [...line.slice(0, 2000).matchAll(/(?<![\d.])\d{2,5}(?![\d.]*\d)/g)]
    .map(([digits]) => Number(digits))
    .filter((port) => port < 65_536)

export function somebodyListens(): (port: number) => boolean {
  const sockets = new ListeningSockets()
  let ports: Set<number> | undefined
  return (port) => {
    ports ??= new Set(sockets.all().map((one) => one.port))
    return ports.has(port)
  }
}

/**
 * For a Node program whose port is taken: its server listens on PORT instead of ending. Given only to a program that ended that
 * way: what works is left alone.
 */
export const listenOnPortInstead = `'use strict'
const { Server } = require('node:net')
const given = Number(process.env.PORT)
const { emit } = Server.prototype
let isMoved = false
Server.prototype.emit = function (event, error, ...rest) {
  const isTaken = event === 'error' && error && error.code === 'EADDRINUSE' && typeof error.port === 'number'
  if (!isTaken || isMoved || !given || error.port === given) return emit.call(this, event, error, ...rest)
  isMoved = true
  process.stderr.write('berth: port ' + error.port + ' is taken on this machine; listening on ' + given + ' instead, as PORT says\\n')
  this.listen({ port: given, host: '127.0.0.1' })
  return true
}
`
