import { limitedNotice, type Notice, notices } from '../answer/pages.ts'
import type { Serving } from '../answer/serving.ts'
import { type ClientAddress, clientAddress, peerAddress } from '../limits/client-address.ts'
import { headerValue, type RequestHead } from '../message/request-head.ts'
import type { Refusal } from '../routing/rules.ts'

/** Reasons of a request from nginx: the request itself, a check of the rules, or the page of a request that nginx could not serve. */
const steps = ['serve', 'check', 'refused', 'unreachable', 'overloaded', 'slow'] as const

/** Facts from nginx about a request that it forwards. */
export interface Front {
  step: (typeof steps)[number]
  /** The peer of nginx's connection: a client or a proxy. */
  peer: ClientAddress
  isSecure: boolean
}

/** Undefined if the headers of nginx are missing or invalid. */
export function readFront(head: RequestHead): Front | undefined {
  const [name, scheme, address, ...others] = (headerValue(head, 'berth-front') ?? '').split(' ')
  const step = steps.find((one) => one === name)
  if (!step || !address || others.length > 0 || (scheme !== 'http' && scheme !== 'https')) return undefined
  return { step, peer: peerAddress(address), isSecure: scheme === 'https' }
}

/** The response to a check: 204, or 403 with the refusal, which nginx sends back with the request itself. */
export function checkResponse(head: RequestHead, { peer }: Front, { routing }: Serving): string {
  const method = headerValue(head, 'berth-front-method') ?? ''
  const target = headerValue(head, 'berth-front-target') ?? '/'
  const address = clientAddress(peer, head.forwardedFor, routing.trusted)
  const rules = routing.find(head.host)?.rules
  const refusal = rules?.evaluate({ ...head, method, target }, address.key, Date.now())
  if (!refusal) return 'HTTP/1.1 204 No Content\r\n\r\n'
  return `HTTP/1.1 403 Forbidden\r\nberth-refusal: ${refusal.status}.${refusal.retryAfterSeconds}\r\ncontent-length: 0\r\n\r\n`
}

/**
 * The response to a check of a request that cannot be read. It names no rule: nginx then sends the request itself, whose response says
 * what is wrong. nginx would turn any other status into its own error 500 of the project.
 */
export const unreadableCheck = 'HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n'

/** Whether bytes that are no valid request are a check. Clients cannot send this line: nginx overwrites it. */
export const isCheck = (input: Buffer): boolean => input.includes('\r\nBerth-Front: check ', 0, 'latin1')

/** The page of a request that a rule refused. */
export const refusalNotice = ({ status, retryAfterSeconds }: Refusal): Notice =>
  retryAfterSeconds > 0 ? limitedNotice(status, retryAfterSeconds) : notices.forbidden

/** The page of a request that nginx did not serve; undefined if this edge serves it. */
export function frontNotice({ step }: Front, head: RequestHead): { notice: Notice; failed: boolean } | undefined {
  if (step === 'refused') return { notice: refusalNotice(readRefusal(head)), failed: false }
  if (step === 'overloaded') return { notice: notices.overloaded, failed: false }
  if (step === 'slow') return { notice: notices.slow, failed: true }
  // An instance that was replaced meanwhile, or put to sleep: the request is served by the current table.
  if (step === 'unreachable' && !isRepeatable(head)) return { notice: notices.unreachable, failed: true }
  return undefined
}

/** nginx may have sent the request, and does not send its body again. */
const isRepeatable = (head: RequestHead) =>
  (head.method === 'GET' || head.method === 'HEAD' || head.method === 'OPTIONS') &&
  ['', '0'].includes(headerValue(head, 'berth-front-body') ?? '')

function readRefusal(head: RequestHead): Refusal {
  const [status, retryAfterSeconds] = (headerValue(head, 'berth-front-refusal') ?? '').split('.').map(Number)
  return { status: status || 403, retryAfterSeconds: retryAfterSeconds || 0 }
}
