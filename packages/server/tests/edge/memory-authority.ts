import { execFileSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { type Acme, type ChallengeBoard, OrderRefused } from '../../src/drivers/acme/acme.ts'
import { Secret } from '../../src/platform/secrets/secret.ts'

let pair: { certificate: string; key: string } | undefined

/** A real key pair for all names: the edge gets only valid ones. */
function makePair() {
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=example.test']
  const both = execFileSync('openssl', ['req', '-x509', ...kind, '-keyout', '-', '-out', '-'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const parts = both.toString().match(/-----BEGIN [^-]+-----[^-]+-----END [^-]+-----\n/g) ?? []
  const find = (what: string) => parts.find((part) => part.includes(what)) ?? ''
  return { certificate: find('CERTIFICATE'), key: find('PRIVATE KEY') }
}

const accountOf = (key: Secret) => createHash('sha256').update(key.reveal()).digest('hex').slice(0, 8)

/** A working authority without a network. */
export class MemoryAuthority implements Acme {
  readonly orders: string[] = []
  lifetimeDays = 90
  /** If set, orders are rejected for this reason. */
  refusal: string | undefined
  /** The Retry-After of the authority's rate limit, sent with a refusal. */
  retryAt: Date | null = null
  /** Responses to challenges, as they were published during an order. */
  readonly proofs: { type: string; response: string }[] = []
  /** If set, it becomes unreachable during an order, while the challenge response is still published. */
  outage: string | undefined
  /** If set, an order waits for it before it is issued. */
  issuing: Promise<void> | undefined
  /** If set, the key does not match the certificate. */
  isForeign = false
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  newAccountKey = async () => new Secret(`account key ${randomUUID()}`)

  async order(hostname: string, accountKey: Secret, board: ChallengeBoard, abort: AbortSignal) {
    abort.throwIfAborted()
    this.orders.push(hostname)
    const token = `token-of-${hostname}`
    await board.show(token, `${token}.thumbprint`)
    abort.throwIfAborted()
    if (this.outage) throw new Error(this.outage)
    await this.issuing
    await board.hide(token, `${token}.thumbprint`)
    this.proofs.push({ type: board.type, response: `${token}.thumbprint` })
    if (this.refusal) throw new OrderRefused(this.refusal, { retryAt: this.retryAt })
    pair ??= makePair()
    return {
      // Text before a certificate is not part of it: it distinguishes one from the next.
      certificate: `certificate ${this.orders.length} of ${hostname}\n${pair.certificate}`,
      privateKey: new Secret(this.isForeign ? makePair().key : pair.key),
      expiresAt: new Date(this.#now() + this.lifetimeDays * 86_400_000),
      accountUrl: `https://authority.example.test/account/${accountOf(accountKey)}`,
    }
  }
}
