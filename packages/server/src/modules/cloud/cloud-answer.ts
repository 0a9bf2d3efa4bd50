import { type ErrorCode, errors } from '@berth/contract'
import { Failure } from '../../platform/failure.ts'
import { LinkRevoked } from './request-cloud.ts'

/** The data of a response; throws the cloud's own error message where it failed. */
// biome-ignore lint/suspicious/noExplicitAny: each caller knows the shape
export function requireSuccess({ status, body }: { status: number; body: any }): any {
  if (status >= 200 && status < 300) return body?.data
  const reason = typeof body?.error === 'string' ? body.error.slice(0, 500) : `it answered ${status}`
  if (status === 401) throw new LinkRevoked()
  // A transient error: the request is retried.
  if (status === 429 || status >= 500) throw new Failure('cloud_unreachable', { message: `The cloud is unreachable: ${reason}` })
  const code = typeof body?.code === 'string' && body.code in errors ? (body.code as ErrorCode) : 'conflict'
  throw new Failure(code, { message: `The cloud rejected the request: ${reason}` })
}

/** Whether a retry may help: a revoked token stays revoked. */
export const isUnreachable = (error: unknown): boolean =>
  error instanceof Failure && error.code === 'cloud_unreachable' && !(error instanceof LinkRevoked)
