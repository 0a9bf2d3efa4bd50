import { STATUS_CODES } from 'node:http'
import { WebRequestFailed, WebRequestRefused } from '../../../drivers/web-request/failures.ts'
import type { WebRequest, WebResponse } from '../../../drivers/web-request/web-request.ts'
import { clamp, oneLine } from './clamp.ts'
import { DeliveryFailed } from './kind.ts'

export interface Post {
  url: string
  headers?: Record<string, string>
  body: string
  /** Name of the receiver in an error reason: "The receiver", "Slack". */
  receiver: string
  /** Statuses that make a failure permanent. */
  permanentStatuses: readonly number[]
  /** Where the provider's error message is in a response. Absent for user-chosen receivers, whose responses are never shown. */
  messageAt?: 'whole body' | { field: string }
  /** Values removed from the reason, in case the receiver echoes them. */
  secrets: readonly string[]
}

/** Posts JSON; any status other than 2xx throws a DeliveryFailed. */
export async function post(webRequest: WebRequest, request: Post, abort: AbortSignal): Promise<void> {
  const { url, body } = request
  const headers = { 'content-type': 'application/json', ...request.headers }
  const response = await webRequest.send({ url, method: 'POST', headers, body, abort }).catch((error: unknown) => {
    throw notSent(error)
  })
  if (response.outcome !== 'ok') throw refused(response, request)
}

function notSent(error: unknown): unknown {
  if (error instanceof WebRequestRefused) return new DeliveryFailed(error.message, { permanent: error.permanent })
  if (error instanceof WebRequestFailed) return new DeliveryFailed(error.message, { permanent: false })
  return error
}

function refused(response: WebResponse, { receiver, permanentStatuses, messageAt, secrets }: Post): DeliveryFailed {
  const { status, outcome } = response
  const reported = messageAt ? clamp(withoutSecrets(messageIn(response.body, messageAt), secrets), 200) : ''
  const reason =
    outcome === 'redirected'
      ? `${receiver} answered ${status} with a redirect, which is not followed: enter the address it leads to`
      : `${receiver} answered ${[status, STATUS_CODES[status]].filter(Boolean).join(' ')}${reported ? `: ${reported}` : ''}`
  return new DeliveryFailed(reason, { permanent: permanentStatuses.includes(status), retryAfterMs: retryAfterMs(response) })
}

function messageIn(body: string, messageAt: NonNullable<Post['messageAt']>): string {
  if (messageAt === 'whole body') return oneLine(body)
  try {
    return oneLine(String(JSON.parse(body)?.[messageAt.field] ?? ''))
  } catch {
    return ''
  }
}

function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.filter((secret) => secret !== '').reduce((line, secret) => line.replaceAll(secret, '[secret]'), text)
}

/** Reads Retry-After in seconds, at most one hour. The limit keeps a receiver from delaying the attempts for longer. */
function retryAfterMs({ headers }: WebResponse): number | undefined {
  const seconds = Number(headers['retry-after'] ?? Number.NaN)
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds, 3600) * 1000 : undefined
}
