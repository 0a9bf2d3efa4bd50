import type { Upstream } from './upstream.ts'

/** Distributes requests between the replicas of one deployment by smooth weighted round robin. */
export class Balance {
  readonly #turns: Upstream[]
  #next = 0

  constructor(shares: readonly { upstream: Upstream; weight: number }[]) {
    this.#turns = spread(shares.filter(({ weight }) => weight > 0))
  }

  /** An upstream that was not tried yet; those that refused recently come last. Undefined if all were tried. */
  choose(tried: ReadonlySet<Upstream> | undefined, now: number): Upstream | undefined {
    const turns = this.#turns
    if (turns.length === 1) return tried?.has(turns[0]!) ? undefined : turns[0]
    let avoided: Upstream | undefined
    for (let step = 0; step < turns.length; step += 1) {
      const upstream = turns[(this.#next + step) % turns.length]!
      if (tried?.has(upstream)) continue
      if (upstream.avoidUntil <= now) {
        this.#next = (this.#next + step + 1) % turns.length
        return upstream
      }
      avoided ??= upstream
    }
    return avoided
  }
}

function spread(shares: readonly { upstream: Upstream; weight: number }[]): Upstream[] {
  const total = shares.reduce((sum, { weight }) => sum + weight, 0)
  const credit = shares.map(() => 0)
  const turns: Upstream[] = []
  for (let turn = 0; turn < total; turn += 1) {
    let best = 0
    for (let at = 0; at < shares.length; at += 1) {
      credit[at]! += shares[at]!.weight
      if (credit[at]! > credit[best]!) best = at
    }
    credit[best]! -= total
    turns.push(shares[best]!.upstream)
  }
  return turns
}
