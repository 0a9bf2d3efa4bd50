import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** Requests of one connection that wait for the answer before them. */
export const pipelinedAtMost = 16

const waiting = new WeakMap<Socket, number>()

/**
 * Begins a request once the one before it on its connection is answered. Node reads every request that a connection brings and would have all of them computed
 * at once, also for a client that has gone away. A connection that brings too many is closed.
 */
export function beginInTurn(request: FastifyRequest, reply: FastifyReply, begin: () => void): void {
  const { socket } = request.raw
  const response = reply.raw
  // Node gives the connection to one answer at a time.
  if (response.socket !== null && !socket.destroyed) {
    begin()
    return
  }
  const count = (waiting.get(socket) ?? 0) + 1
  if (count > pipelinedAtMost) socket.destroy()
  if (socket.destroyed) {
    reply.hijack()
    return
  }
  waiting.set(socket, count)
  response.once('socket', () => {
    waiting.set(socket, (waiting.get(socket) ?? 1) - 1)
    begin()
  })
}
