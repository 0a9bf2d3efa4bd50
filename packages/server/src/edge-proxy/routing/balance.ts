import type { Upstream } from './upstream.ts'

/** Distributes requests between the replicas of one deployment by smooth weighted round robin. */
export class Balance {
  readonly #sequence: Upstream[]
  #next = 0

  constructor(shares: readonly { upstream: Upstream; weight: number }[]) {
    this.#sequence = weightedSequence(shares.filter(({ weight }) => weight > 0))
  }

  /** An upstream that was not tried yet; those that refused recently come last. Undefined if all were tried. */
  choose(tried: ReadonlySet<Upstream> | undefined, now: number): Upstream | undefined {
    const sequence = this.#sequence
    if (sequence.length === 1) return tried?.has(sequence[0]!) ? undefined : sequence[0]
    let avoided: Upstream | undefined
    for (let step = 0; step < sequence.length; step += 1) {
      const upstream = sequence[(this.#next + step) % sequence.length]!
      if (tried?.has(upstream)) continue
      if (upstream.avoidUntil <= now) {
        this.#next = (this.#next + step + 1) % sequence.length
        return upstream
      }
      avoided ??= upstream
    }
    return avoided
  }
}

function weightedSequence(shares: readonly { upstream: Upstream; weight: number }[]): Upstream[] {
  const total = shares.reduce((sum, { weight }) => sum + weight, 0)
  const credit = shares.map(() => 0)
  const sequence: Upstream[] = []
  for (let position = 0; position < total; position += 1) {
    let best = 0
    for (let at = 0; at < shares.length; at += 1) {
      credit[at]! += shares[at]!.weight
      if (credit[at]! > credit[best]!) best = at
    }
    credit[best]! -= total
    sequence.push(shares[best]!.upstream)
  }
  return sequence
}
