import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ConnectionsFirst } from './connections-first.ts'

/** Requests of one connection that wait for the answer before them. */
export const maxPipelined = 4

type Answer = (request: IncomingMessage, response: ServerResponse) => void

interface Timeouts {
  http: ServerOptions
  keepAliveTimeout: number
  requestTimeout: number
  connectionTimeout: number
}

/**
 * The server under Fastify (its `serverFactory`). Begins a request once the one before it on its connection is answered. Node reads every request that a
 * connection brings: without this, all of them would be routed and computed at once, also for a client that has gone away. A request that waits costs its
 * parsing alone. A connection that brings too many is closed.
 */
export function createOrderedServer(answer: Answer, options: object): Server {
  const { http, keepAliveTimeout, requestTimeout, connectionTimeout } = options as Timeouts
  const waiting = new WeakMap<Socket, number>()
  const connections = new ConnectionsFirst()
  const begin: Answer = (request, response) => connections.begin(request, () => answer(request, response))
  const server = createServer(http, (request, response) => {
    const { socket } = request
    if (socket.destroyed) return
    // Node gives the connection to one answer at a time.
    if (response.socket !== null) return begin(request, response)
    const count = (waiting.get(socket) ?? 0) + 1
    if (count > maxPipelined) return refuse(socket)
    waiting.set(socket, count)
    response.once('socket', () => {
      waiting.set(socket, (waiting.get(socket) ?? 1) - 1)
      begin(request, response)
    })
  })
  server.on('connection', (socket) => {
    connections.noteConnection()
    closeWithoutStacks(socket)
  })
  server.keepAliveTimeout = keepAliveTimeout
  server.requestTimeout = requestTimeout
  return server.setTimeout(connectionTimeout)
}

/** The part of Node's parser that is used here; it is not documented. */
interface Parsed extends Socket {
  parser?: { onIncoming?: () => number }
}

/** Closes a connection and fails its parser: Node would otherwise parse every request that it has already read, and abort each. */
function refuse(socket: Parsed): void {
  socket.destroy()
  if (socket.parser?.onIncoming) socket.parser.onIncoming = () => -1
}

/** Node makes an error for each unanswered request of a connection that closes. Recording their stacks takes five times as long as parsing the requests. */
function closeWithoutStacks(socket: Socket): void {
  let limit: number
  socket.prependListener('close', () => {
    limit = Error.stackTraceLimit
    Error.stackTraceLimit = 0
  })
  socket.on('close', () => {
    Error.stackTraceLimit = limit
  })
}
