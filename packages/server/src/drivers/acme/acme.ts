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
  /** May be called again for a published token: an authority repeats its challenge after an interrupted order. */
  show(token: string, keyAuthorization: string): Promise<void>
  hide(token: string): Promise<void>
}

/** The authority rejected an order; the message contains its reason. */
export class OrderRefused extends Error {
  override readonly name = 'OrderRefused'
}

export interface Acme {
  newAccountKey(): Promise<Secret>
  /**
   * Orders a certificate with HTTP-01. Rejects with `OrderRefused` or a network error; on abort at once, with the signal's reason.
   */
  order(hostname: string, accountKey: Secret, board: ChallengeBoard, abort: AbortSignal): Promise<IssuedCertificate>
}
