import { ListeningSockets } from '../../../../platform/listener/listening-sockets.ts'

/** Error messages of programs whose port is in use. */
const portInUseMessage =
  /EADDRINUSE|address already in use|connection in use|\bport \d+ (?:is|was) (?:already )?(?:in use|taken)|is port \d+ in use/i
const maxLinesBack = 60
const firstUnprivilegedPort = 1024

/**
 * Port that a program could not bind, from its last lines of output. Null if it ended for another reason. A number counts only
 * if some process listens on that port. Without a number in the message, it is the port that the source names, or else one
 * from the last 60 lines: the nearest one before the message, or one after it.
 */
export function takenPortIn(output: string, hinted: number | null, isTaken: (port: number) => boolean): number | null {
  const lines = output.split('\n')
  const messageLine = lines.findLastIndex((line) => portInUseMessage.test(line))
  if (messageLine === -1) return null
  const nearby = [messageLine, messageLine + 1, messageLine + 2, messageLine - 1, messageLine - 2].flatMap((position) =>
    portsIn(lines[position] ?? ''),
  )
  const firstLine = Math.max(0, lines.length - maxLinesBack)
  const fromLastLines = [...lines.slice(firstLine, messageLine).reverse(), ...lines.slice(Math.max(firstLine, messageLine))]
    .flatMap(portsIn)
    .filter((port) => port >= firstUnprivilegedPort)
  return [...nearby, ...(hinted === null ? [] : [hinted]), ...fromLastLines].find(isTaken) ?? null
}

/** Dates, times of day with their time zone, and positions in source files. */
const otherNumbers = [
  /(?<!\d)\d{4}([-/.])\d{1,2}\1\d{1,2}(?!\d)/g,
  /(?<!\d)\d{1,2}([-/.])\d{1,2}\1\d{4}(?!\d)/g,
  /(?<![\d.:])\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d+)?(?![\d:])(?:\s?[+-]\d{2}:?\d{2}(?!\d))?/g,
  /(?:\.(?:[cm]?[jt]sx?|py|go|rb|rs|java|kt|exs?|php|cs|cc?|cpp|hpp?)|\bnode:[\w/]+):\d+(?::\d+)?(?!\d)/g,
]

/** A number after the word "port" or a colon, or the second part of an address as in `('0.0.0.0', 8000)`. */
const markedPort = /(?:\bport\b[\s:=#"']*|:|['"],\s*)(\d{2,5})(?![\d.]*\d)/gi
const anyNumber = /(?<![\d.])(\d{2,5})(?![\d.]*\d)/g

/** Numbers of a line that may be a port: those marked as a port first. A privileged port counts only if it is marked. */
function portsIn(line: string): number[] {
  let text = line.slice(0, 2000)
  for (const pattern of otherNumbers) text = text.replace(pattern, ' ')
  const numbers = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, digits]) => Number(digits))
  const unmarked = numbers(anyNumber).filter((port) => port >= firstUnprivilegedPort)
  return [...numbers(markedPort), ...unmarked].filter((port) => port < 65_536)
}

/** Ports in use. Reads the kernel's list twice: it is read in pieces, and a socket that closes between two pieces hides another. */
export async function readTakenPorts(): Promise<ReadonlySet<number>> {
  const ports = new Set<number>()
  for (const sockets of [new ListeningSockets(), new ListeningSockets()])
    for (const { port } of await sockets.all()) ports.add(port)
  return ports
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
