import type { Secret } from '../../platform/secrets/secret.ts'

export interface IssuedCertificate {
  /** PEM, leaf first. */
  certificate: string
  privateKey: Secret
  expiresAt: Date
  /** URL of the ACME account that the certificate was issued to. */
  accountUrl: string
}

/** Publishes challenge responses; each must be reachable when `show` resolves. */
export interface ChallengeBoard {
  /** `dns-01` is required for a wildcard name. */
  readonly type: 'http-01' | 'dns-01'
  /** May be called again for a published token: an authority repeats its challenge after an interrupted order. */
  show(token: string, response: string): Promise<void>
  hide(token: string, response: string): Promise<void>
}

/** The authority rejected an order; the message contains its reason. */
export class OrderRefused extends Error {
  override readonly name = 'OrderRefused'
  /** The earliest time of the next order, if the authority's rate limit rejected this one. */
  readonly retryAt: Date | null

  constructor(message: string, { retryAt = null, ...options }: ErrorOptions & { retryAt?: Date | null } = {}) {
    super(message, options)
    this.retryAt = retryAt
  }
}

export interface Acme {
  newAccountKey(): Promise<Secret>
  /**
   * Orders a certificate for one name, with the board's type of challenge. Rejects with `OrderRefused` or a network error. An
   * abort rejects at once with the signal's reason.
   */
  order(hostname: string, accountKey: Secret, board: ChallengeBoard, abort: AbortSignal): Promise<IssuedCertificate>
}
