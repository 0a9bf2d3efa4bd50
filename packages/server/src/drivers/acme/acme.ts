import type { Secret } from '../../secrets/secret.ts'

export interface AcmeAccount {
  privateKey: Secret
  accountUrl: string | null
}

export interface IssuedCertificate {
  /** PEM, leaf first. */
  certificate: string
  privateKey: Secret
  expiresAt: Date
}

/** Where answers to the authority's questions are shown; each must be reachable when `show` resolves. */
export interface ChallengeBoard {
  show(token: string, keyAuthorization: string): Promise<void>
  hide(token: string): Promise<void>
}

/** An order that the authority refused; the message carries its reason. */
export class OrderRefused extends Error {
  override readonly name = 'OrderRefused'
}

export interface Acme {
  newAccountKey(): Promise<Secret>
  /** HTTP-01. Rejects with `OrderRefused`, or with what the network said. */
  order(hostname: string, account: AcmeAccount, board: ChallengeBoard): Promise<IssuedCertificate & { accountUrl: string }>
}
