import type { WebRequest } from '../web-request/web-request.ts'

const timeoutMs = 5_000

/** How many seconds the clock is ahead of the server's `Date` header; null if the server does not answer with one. */
export async function clockOffset(url: string, web: WebRequest, now: () => number = Date.now): Promise<number | null> {
  const sentAt = now()
  const response = await web.send({ url, method: 'HEAD', timeoutMs }).catch(() => null)
  const date = Date.parse(response?.headers.date ?? '')
  if (Number.isNaN(date)) return null
  // The header has whole seconds, and was written between the request and the answer.
  const readAt = sentAt + (now() - sentAt) / 2
  return Math.round((readAt - (date + 500)) / 1000)
}
