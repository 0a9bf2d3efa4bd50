import { type ErrorCode, errors } from '@berth/contract'
import { Failure } from '../../../platform/failure.ts'
import { LinkRevoked } from '../ask.ts'

/** The data of an answer, or the cloud's own words for why there is none. */
// biome-ignore lint/suspicious/noExplicitAny: whoever asks knows the row
export function answered({ status, body }: { status: number; body: any }): any {
  if (status >= 200 && status < 300) return body?.data
  const said = typeof body?.error === 'string' ? body.error.slice(0, 500) : `it answered ${status}`
  if (status === 401) throw new LinkRevoked()
  // What passes: it is asked again.
  if (status === 429 || status >= 500) throw new Failure('cloud_unreachable', { words: `The cloud is unreachable: ${said}` })
  const code = typeof body?.code === 'string' && body.code in errors ? (body.code as ErrorCode) : 'conflict'
  throw new Failure(code, { words: `The cloud says: ${said}` })
}

/** Whether asking again may help: a token that was revoked stays so. */
export const isUnreachable = (error: unknown): boolean =>
  error instanceof Failure && error.code === 'cloud_unreachable' && !(error instanceof LinkRevoked)
