import { STATUS_CODES } from 'node:http'
import { WebRequestFailed, WebRequestRefused } from '../../../../drivers/web-request/failures.ts'
import type { WebAnswer, WebRequest } from '../../../../drivers/web-request/web-request.ts'
import { clamp, oneLine } from './clamp.ts'
import { DeliveryFailed } from './kind.ts'

export interface Post {
  url: string
  headers?: Record<string, string>
  body: string
  /** Who is asked, for the reason: "The receiver", "Slack". */
  receiver: string
  /** Statuses after which no further try can succeed. */
  final: readonly number[]
  /** The provider's own words in a refusal. Left out for receivers of the user's choice, whose answers we show nobody. */
  words?: 'whole body' | { field: string }
  /** Never repeated in a reason, even if the other side repeats them. */
  secrets: readonly string[]
}

/** Sends JSON; anything but a 2xx becomes a DeliveryFailed. */
export async function post(webRequest: WebRequest, request: Post, abort: AbortSignal): Promise<void> {
  const { url, body } = request
  const headers = { 'content-type': 'application/json', ...request.headers }
  const answer = await webRequest.send({ url, method: 'POST', headers, body, abort }).catch((error: unknown) => {
    throw notSent(error)
  })
  if (answer.outcome !== 'ok') throw refused(answer, request)
}

function notSent(error: unknown): unknown {
  if (error instanceof WebRequestRefused) return new DeliveryFailed(error.message, { permanent: error.permanent })
  if (error instanceof WebRequestFailed) return new DeliveryFailed(error.message, { permanent: false })
  return error
}

function refused(answer: WebAnswer, { receiver, final, words, secrets }: Post): DeliveryFailed {
  const { status, outcome } = answer
  const said = words ? clamp(withoutSecrets(wordsIn(answer.body, words), secrets), 200) : ''
  const reason =
    outcome === 'redirected'
      ? `${receiver} answered ${status} with a redirect, which is not followed: enter the address it leads to`
      : `${receiver} answered ${[status, STATUS_CODES[status]].filter(Boolean).join(' ')}${said ? `: ${said}` : ''}`
  return new DeliveryFailed(reason, { permanent: final.includes(status), retryAfterMs: retryAfterMs(answer) })
}

function wordsIn(body: string, words: NonNullable<Post['words']>): string {
  if (words === 'whole body') return oneLine(body)
  try {
    return oneLine(String(JSON.parse(body)?.[words.field] ?? ''))
  } catch {
    return ''
  }
}

function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.filter((secret) => secret !== '').reduce((line, secret) => line.replaceAll(secret, '[secret]'), text)
}

/** Only the form in seconds, and never more than an hour: the pause is a wish, the tries are our promise. */
function retryAfterMs({ headers }: WebAnswer): number | undefined {
  const seconds = Number(headers['retry-after'] ?? Number.NaN)
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds, 3600) * 1000 : undefined
}
