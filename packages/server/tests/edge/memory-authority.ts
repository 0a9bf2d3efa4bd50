import { type Acme, type ChallengeBoard, OrderRefused } from '../../src/drivers/acme/acme.ts'
import { Secret } from '../../src/secrets/secret.ts'

/** A working authority without keys or a network. */
export class MemoryAuthority implements Acme {
  readonly orders: string[] = []
  lifetimeDays = 90
  /** Set: orders are refused for this reason. */
  refusal: string | undefined
  /** Set: it goes away in the middle of an order, with the answer to its question still shown. */
  outage: string | undefined
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  newAccountKey = async () => new Secret('account key')

  async order(hostname: string, _accountKey: Secret, board: ChallengeBoard) {
    this.orders.push(hostname)
    const token = `token-of-${hostname}`
    await board.show(token, `${token}.thumbprint`)
    if (this.outage) throw new Error(this.outage)
    await board.hide(token)
    if (this.refusal) throw new OrderRefused(this.refusal)
    return {
      certificate: `certificate ${this.orders.length} of ${hostname}`,
      privateKey: new Secret(`key ${this.orders.length}`),
      expiresAt: new Date(this.#now() + this.lifetimeDays * 86_400_000),
      accountUrl: 'https://authority.example.test/account/1',
    }
  }
}
