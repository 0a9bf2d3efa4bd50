import type { Permission } from '@berth/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { clientOf } from '../platform/address-set.ts'
import { fail } from '../platform/failure.ts'
import type { Exposition } from '../platform/metrics/metric-source.ts'
import type { Secret } from '../platform/secrets/secret.ts'
import { constantTimeEqual } from '../platform/secrets/token.ts'
import { addressOf } from './client-address.ts'
import type { MountDeps } from './mount-deps.ts'

export interface MetricsRoute {
  /** The value of BERTH_METRICS_TOKEN. */
  token: Secret | null
  /** `bearer`: the token of the request. */
  render(bearer: string): Promise<Exposition>
}

/** Serves `GET /metrics` to the metrics token and to operators' tokens. Everyone else gets 401, and counts as a public client. */
export function serveMetrics(
  app: FastifyInstance,
  { token, render }: MetricsRoute,
  { authenticator, limiter }: Pick<MountDeps, 'authenticator' | 'limiter'>,
): void {
  const isOperatorToken = async (request: FastifyRequest): Promise<boolean> => {
    const caller = await authenticator.authenticate(request)
    if (caller?.via !== 'token' || !(caller.scopes?.has(permission) ?? true)) return false
    return await authenticator.isOperator(caller)
  }
  app.get('/metrics', async (request, reply) => {
    const sent = bearerOf(request)
    const isAllowed =
      sent !== null && ((token !== null && constantTimeEqual(sent, token.reveal())) || (await isOperatorToken(request)))
    if (!isAllowed) {
      limiter.count('public', clientOf(addressOf(request)))
      reply.header('www-authenticate', 'Bearer')
      return fail('unauthorized')
    }
    const { contentType, text } = await render(sent)
    return reply.header('cache-control', 'no-store').type(contentType).send(text)
  })
}

/** The permission that a token with chosen permissions needs, as for other readings of the whole instance. */
const permission: Permission = 'organization:read'

const bearerOf = ({ headers }: FastifyRequest): string | null =>
  /^bearer ([^\s]+)$/i.exec(headers.authorization ?? '')?.[1] ?? null
