import { limits } from '@berth/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { clientOf } from '../../platform/address-set.ts'
import { fail } from '../../platform/failure.ts'
import { addressOf } from '../client-address.ts'
import type { MountDeps } from '../mount-deps.ts'
import type { McpEndpoint } from './endpoint.ts'
import { errorMessage, RpcError, rpcErrors } from './json-rpc.ts'
import type { McpSettings } from './settings.ts'

/** Mounts `/api/mcp`. The endpoint is loaded by the first request. */
export function mountMcp(app: FastifyInstance, deps: MountDeps, version: string, settings: McpSettings): void {
  let endpoint: Promise<McpEndpoint> | undefined
  const load = async () => new (await import('./endpoint.ts')).McpEndpoint(app, deps, version, settings)
  app.route({
    method: 'POST',
    url: '/api/mcp',
    bodyLimit: limits.bodyBytes,
    onRequest: async (request, reply) => {
      request.state = { caller: null }
      refuseOtherOrigins(request, settings)
      try {
        await admitToken(request, deps)
      } catch (error) {
        reply.header('www-authenticate', 'Bearer')
        throw error
      }
    },
    handler: async (request, reply) => {
      endpoint ??= load()
      return (await endpoint).answer(request, reply)
    },
  })
  // Clients of earlier revisions open a stream with GET and end a session with DELETE: both are optional for a server.
  app.route({
    method: ['GET', 'DELETE'],
    url: '/api/mcp',
    handler: (_request, reply) => reply.status(405).header('allow', 'POST').send(onlyPost),
  })
}

const onlyPost = errorMessage(undefined, new RpcError(rpcErrors.invalidRequest, 'Send MCP messages with POST'))

/**
 * Refuses pages of other sites. The Host header is not compared: with DNS rebinding, it is the name of the attacker's page, like
 * its origin.
 */
function refuseOtherOrigins({ headers }: FastifyRequest, { publicUrl }: McpSettings): void {
  if (headers.origin === undefined || headers.origin === new URL(publicUrl()).origin) return
  fail('forbidden', { message: 'MCP requests from web pages of other origins are refused' })
}

/** Accepts personal tokens only: a browser sends the session cookie by itself. */
async function admitToken(request: FastifyRequest, { authenticator, limiter }: MountDeps): Promise<void> {
  const caller = request.headers.authorization === undefined ? null : await authenticator.authenticate(request)
  if (caller?.via !== 'token') {
    limiter.count('public', clientOf(addressOf(request)))
    fail('unauthorized')
  }
  limiter.count('signedIn', caller.userId)
  request.state.caller = caller
}
