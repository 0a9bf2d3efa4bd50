/**
 * Error messages for users. They contain the host at most, never the path, query or credentials of the URL, because webhook URLs
 * have their secrets there; for the same reason no `cause` is attached.
 */

/**
 * Berth's own rules refused the request before anything was sent. `permanent`: a retry cannot succeed; false where it depends on the
 * current address of a host name.
 */
export class WebRequestRefused extends Error {
  override readonly name = 'WebRequestRefused'
  readonly reason: 'invalid_url' | 'scheme' | 'credentials' | 'address'
  readonly permanent: boolean

  constructor(reason: WebRequestRefused['reason'], message: string, permanent = true) {
    super(message)
    this.reason = reason
    this.permanent = permanent
  }
}

export type FailureReason =
  | 'name_not_found'
  | 'name_lookup_failed'
  | 'connection_refused'
  | 'unreachable'
  | 'connection_lost'
  | 'tls'
  | 'bad_answer'
  | 'timed_out'
  | 'failed'

/** The request was attempted, but no response arrived. `code` is the system error (ECONNREFUSED, CERT_HAS_EXPIRED) for the log. */
export class WebRequestFailed extends Error {
  override readonly name = 'WebRequestFailed'
  readonly reason: FailureReason
  readonly code: string | undefined

  constructor(reason: FailureReason, message: string, code?: string) {
    super(message)
    this.reason = reason
    this.code = code
  }
}

export function lookupFailed(host: string, cause: unknown): WebRequestFailed {
  const code = codeOf(cause)
  return code === 'ENOTFOUND' || code === 'ENODATA' || code === 'EAI_NONAME'
    ? new WebRequestFailed('name_not_found', `No address was found for the host name ${host}`, code)
    : new WebRequestFailed('name_lookup_failed', `The host name ${host} could not be resolved`, code)
}

export function timedOut(host: string, timeoutMs: number): WebRequestFailed {
  return new WebRequestFailed('timed_out', `${host} did not answer within ${timeoutMs / 1000} seconds`)
}

export function exchangeFailed(host: string, cause: unknown): WebRequestFailed {
  const code = codeOf(cause)
  const reason = reasonOf(code)
  return new WebRequestFailed(reason, `${host} ${failureMessage[reason](code ?? '')}`, code)
}

const failureMessage = {
  connection_refused: () => 'refused the connection: nothing listens on that port',
  unreachable: () => 'is unreachable',
  connection_lost: () => 'closed the connection without a response',
  tls: (code: string) =>
    /^(ERR_SSL_|EPROTO)/.test(code) ? 'does not support TLS on that port' : `has an untrusted TLS certificate (${code})`,
  bad_answer: () => 'returned a response that is not HTTP',
  failed: () => 'could not be requested',
} satisfies Partial<Record<FailureReason, (code: string) => string>>

function reasonOf(code = ''): keyof typeof failureMessage {
  if (code === 'ECONNREFUSED') return 'connection_refused'
  if (/^(EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/.test(code)) return 'unreachable'
  if (/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/.test(code)) return 'connection_lost'
  if (/^(ERR_TLS_|ERR_SSL_|CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH|EPROTO)/.test(code)) return 'tls'
  if (/^(HPE_|UND_ERR_HEADERS_OVERFLOW|UND_ERR_RES_)/.test(code)) return 'bad_answer'
  return 'failed'
}

function codeOf(cause: unknown): string | undefined {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  return typeof code === 'string' ? code : undefined
}
