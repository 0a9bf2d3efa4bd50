import type { Secret } from '../../platform/secrets/secret.ts'

export interface IssuedCertificate {
  /** PEM, leaf first. */
  certificate: string
  privateKey: Secret
  expiresAt: Date
  /** Which account of the authority's it was issued to. */
  accountUrl: string
}

/** Where answers to the authority's questions are shown; each must be reachable when `show` resolves. */
export interface ChallengeBoard {
  /** May be called again for a token that is already shown: an authority asks the same again after a broken order. */
  show(token: string, keyAuthorization: string): Promise<void>
  hide(token: string): Promise<void>
}

/** An order that the authority refused; the message carries its reason. */
export class OrderRefused extends Error {
  override readonly name = 'OrderRefused'
}

export interface Acme {
  newAccountKey(): Promise<Secret>
  /** HTTP-01. Rejects with `OrderRefused`, or with what the network said; on abort at once, with the signal's reason. */
  order(hostname: string, accountKey: Secret, board: ChallengeBoard, abort: AbortSignal): Promise<IssuedCertificate>
}
