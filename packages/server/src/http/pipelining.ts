import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** Requests of one connection that wait for the answer before them: no client that we know sends any. */
export const pipelinedAtMost = 16

const waiting = new WeakMap<Socket, number>()

/**
 * Whether a request is not answered at all: its client has gone away, or sends more requests than it waits for. Node reads every request that a connection
 * brings and has all of them computed at once, so such a connection is closed.
 */
export function isAbandoned({ raw: { socket } }: FastifyRequest, { raw: response }: FastifyReply): boolean {
  if (socket.destroyed) return true
  // Node gives the connection to one answer at a time: a request before this one has it.
  if (response.socket !== null) return false
  const count = (waiting.get(socket) ?? 0) + 1
  waiting.set(socket, count)
  response.once('close', () => waiting.set(socket, (waiting.get(socket) ?? 1) - 1))
  if (count <= pipelinedAtMost) return false
  socket.destroy()
  return true
}
