interface WaitingHandshake {
  resume: () => void
  until: number
}

/** A host that is still used and still has no certificate is reported again after this time. */
const reportAgainMs = 5_000
/** Shorter than the time limit of a handshake, so that the client gets a TLS alert. */
const maxWaitMs = 9_000
const maxWaiting = 500
const maxWaitingPerHost = 50

/** Reports hosts that are used without a certificate, and delays their TLS handshakes until the certificate arrives. */
export class CertificateRequests {
  readonly #onWanted: (hostname: string) => void
  readonly #reportedAt = new Map<string, number>()
  readonly #waiting = new Map<string, WaitingHandshake[]>()
  #count = 0

  constructor(onWanted: (hostname: string) => void) {
    this.#onWanted = onWanted
  }

  request(hostname: string, now: number): void {
    if (now - (this.#reportedAt.get(hostname) ?? 0) < reportAgainMs) return
    this.#reportedAt.set(hostname, now)
    this.#onWanted(hostname)
  }

  /** Delays a handshake. Returns false if too many are waiting. */
  queue(hostname: string, now: number, resume: () => void): boolean {
    const waiting = this.#waiting.get(hostname) ?? []
    if (this.#count >= maxWaiting || waiting.length >= maxWaitingPerHost) return false
    waiting.push({ resume, until: now + maxWaitMs })
    this.#waiting.set(hostname, waiting)
    this.#count += 1
    this.request(hostname, now)
    return true
  }

  /** Resumes the handshakes of hosts that have a certificate by now, or no longer request one. */
  resumeReady(lacksCertificate: (hostname: string) => boolean): void {
    for (const hostname of this.#reportedAt.keys()) if (!lacksCertificate(hostname)) this.#reportedAt.delete(hostname)
    for (const hostname of [...this.#waiting.keys()]) if (!lacksCertificate(hostname)) this.#resume(hostname, () => true)
  }

  /** Resumes handshakes that have waited too long; without a certificate they fail. */
  sweep(now: number): void {
    for (const hostname of [...this.#waiting.keys()]) this.#resume(hostname, ({ until }) => until <= now)
  }

  #resume(hostname: string, isDue: (handshake: WaitingHandshake) => boolean): void {
    const waiting = this.#waiting.get(hostname) ?? []
    const due = waiting.filter(isDue)
    const remaining = waiting.filter((handshake) => !due.includes(handshake))
    if (remaining.length > 0) this.#waiting.set(hostname, remaining)
    else this.#waiting.delete(hostname)
    this.#count -= due.length
    for (const { resume } of due) resume()
  }
}
