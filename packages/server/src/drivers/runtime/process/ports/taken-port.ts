import { ListeningSockets } from '../../../../platform/listener/listening-sockets.ts'

/** How programs say that somebody else listens where they want to. */
const words =
  /EADDRINUSE|address already in use|connection in use|\bport \d+ (?:is|was) (?:already )?(?:in use|taken)|is port \d+ in use/i
const linesBack = 60
const firstFreeToAll = 1024

/**
 * The port that a program wanted and did not get, by its last words; null when it ended for another reason. A number counts
 * only when somebody does listen there. Some say no number: then it is the one that the source names, or one of the lines before.
 */
export function takenPortIn(output: string, hinted: number | null, isTaken: (port: number) => boolean): number | null {
  const lines = output.split('\n')
  const at = lines.findLastIndex((line) => words.test(line))
  if (at === -1) return null
  const near = [at, at + 1, at + 2, at - 1, at - 2].flatMap((place) => portsIn(lines[place] ?? ''))
  const before = lines
    .slice(-linesBack)
    .flatMap(portsIn)
    .filter((port) => port >= firstFreeToAll)
  return [...near, ...(hinted === null ? [] : [hinted]), ...before].find(isTaken) ?? null
}

const portsIn = (line: string): number[] =>
  [...line.slice(0, 2000).matchAll(/(?<![\d.])\d{2,5}(?![\d.]*\d)/g)]
    .map(([digits]) => Number(digits))
    .filter((port) => port < 65_536)

/** The kernel's list is read in pieces, and a socket that closes between two of them hides another: it is read twice. */
export async function takenPorts(): Promise<(port: number) => boolean> {
  const ports = new Set<number>()
  for (const sockets of [new ListeningSockets(), new ListeningSockets()])
    for (const { port } of await sockets.all()) ports.add(port)
  return (port) => ports.has(port)
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
