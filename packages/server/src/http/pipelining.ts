import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ConnectionsFirst } from './connections-first.ts'

/** Maximum number of requests of one connection that wait for the previous answer. */
export const maxPipelined = 4

type Answer = (request: IncomingMessage, response: ServerResponse) => void

interface Timeouts {
  http: ServerOptions
  keepAliveTimeout: number
  requestTimeout: number
  connectionTimeout: number
}

/**
 * The server under Fastify (its `serverFactory`). Starts a request once the previous request of its connection is answered.
 * Node parses all pipelined requests of a connection at once: without this server, all of them would be handled at once, even
 * if the client has disconnected. A connection with too many pipelined requests is closed.
 */
export function createOrderedServer(answer: Answer, options: object): Server {
  const { http, keepAliveTimeout, requestTimeout, connectionTimeout } = options as Timeouts
  const waiting = new WeakMap<Socket, number>()
  const connections = new ConnectionsFirst()
  const start: Answer = (request, response) => connections.start(request, () => answer(request, response))
  const server = createServer(http, (request, response) => {
    const { socket } = request
    if (socket.destroyed) return
    // Node assigns the socket to one response at a time.
    if (response.socket !== null) return start(request, response)
    const count = (waiting.get(socket) ?? 0) + 1
    if (count > maxPipelined) return refuse(socket)
    waiting.set(socket, count)
    response.once('socket', () => {
      waiting.set(socket, (waiting.get(socket) ?? 1) - 1)
      start(request, response)
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

/** Turns stack traces off while a connection closes: Node creates an error per unanswered request, and stacks cost more than parsing. */
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
