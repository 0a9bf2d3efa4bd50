import { ListeningSockets } from '../../../../platform/listener/listening-sockets.ts'

/** Error messages of programs whose port is in use. */
const portInUseMessage =
  /EADDRINUSE|address already in use|connection in use|\bport \d+ (?:is|was) (?:already )?(?:in use|taken)|is port \d+ in use/i
const maxLinesBack = 60
const firstUnprivilegedPort = 1024

/**
 * Port that a program could not bind, from its last lines of output. Null if it ended for another reason. A number counts only
 * if some process listens on that port. Without a number in the message, it is the port that the source names, or one from
 * the preceding lines.
 */
export function takenPortIn(output: string, hinted: number | null, isTaken: (port: number) => boolean): number | null {
  const lines = output.split('\n')
  const messageLine = lines.findLastIndex((line) => portInUseMessage.test(line))
  if (messageLine === -1) return null
  const nearby = [messageLine, messageLine + 1, messageLine + 2, messageLine - 1, messageLine - 2].flatMap((position) =>
    portsIn(lines[position] ?? ''),
  )
  const earlier = lines
    .slice(-maxLinesBack)
    .flatMap(portsIn)
    .filter((port) => port >= firstUnprivilegedPort)
  return [...nearby, ...(hinted === null ? [] : [hinted]), ...earlier].find(isTaken) ?? null
}

const portsIn = (line: string): number[] =>
  [...line.slice(0, 2000).matchAll(/(?<![\d.])\d{2,5}(?![\d.]*\d)/g)]
    .map(([digits]) => Number(digits))
    .filter((port) => port < 65_536)

/** Reads the kernel's list of listeners twice: it is read in pieces, and a socket that closes between two pieces hides another. */
export async function takenPorts(): Promise<(port: number) => boolean> {
  const ports = new Set<number>()
  for (const sockets of [new ListeningSockets(), new ListeningSockets()])
    for (const { port } of await sockets.all()) ports.add(port)
  return (port) => ports.has(port)
}

/**
 * Script for a Node program whose port is in use: its server listens on PORT instead of failing. It is only loaded into a
 * program that ended for this reason, so that working programs stay unchanged.
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
