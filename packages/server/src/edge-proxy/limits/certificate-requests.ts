interface HeldHandshake {
  resume: () => void
  until: number
}

/** A host that is still used and still has no certificate is reported again after this time. */
const reportAgainMs = 5_000
/** Shorter than the time limit of a handshake, so that the client gets a TLS alert. */
const longestHoldMs = 9_000
const mostHeld = 500
const mostHeldPerHost = 50

/** Reports hosts that are used without a certificate, and holds their TLS handshakes until it arrives. */
export class CertificateRequests {
  readonly #onWanted: (hostname: string) => void
  readonly #reportedAt = new Map<string, number>()
  readonly #held = new Map<string, HeldHandshake[]>()
  #count = 0

  constructor(onWanted: (hostname: string) => void) {
    this.#onWanted = onWanted
  }

  request(hostname: string, now: number): void {
    if (now - (this.#reportedAt.get(hostname) ?? 0) < reportAgainMs) return
    this.#reportedAt.set(hostname, now)
    this.#onWanted(hostname)
  }

  /** False if too many handshakes are held. */
  hold(hostname: string, now: number, resume: () => void): boolean {
    const held = this.#held.get(hostname) ?? []
    if (this.#count >= mostHeld || held.length >= mostHeldPerHost) return false
    held.push({ resume, until: now + longestHoldMs })
    this.#held.set(hostname, held)
    this.#count += 1
    this.request(hostname, now)
    return true
  }

  /** Resumes the handshakes of hosts that have a certificate by now, or no longer request one. */
  reconsider(isLacking: (hostname: string) => boolean): void {
    for (const hostname of this.#reportedAt.keys()) if (!isLacking(hostname)) this.#reportedAt.delete(hostname)
    for (const hostname of [...this.#held.keys()]) if (!isLacking(hostname)) this.#release(hostname, Number.POSITIVE_INFINITY)
  }

  /** Resumes handshakes that have waited too long; without a certificate they fail. */
  sweep(now: number): void {
    for (const hostname of [...this.#held.keys()]) this.#release(hostname, now)
  }

  #release(hostname: string, now: number): void {
    const [over, left] = [[] as HeldHandshake[], [] as HeldHandshake[]]
    for (const held of this.#held.get(hostname) ?? []) (held.until <= now ? over : left).push(held)
    if (left.length > 0) this.#held.set(hostname, left)
    else this.#held.delete(hostname)
    this.#count -= over.length
    for (const { resume } of over) resume()
  }
}
