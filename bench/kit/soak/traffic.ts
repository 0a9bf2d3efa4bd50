import { setTimeout as pause } from 'node:timers/promises'
import { Agent } from 'undici'
import { getPage } from '../../../tests/kit/hosting.ts'

const everyMs = 200
const timeoutMs = 30_000
const comesBackWithinMs = 90_000

export interface TrafficCount {
  answered: number
  /** Failures while the project was expected to be down. */
  expected: number
  lost: string[]
}

/** Constant requests through the edge to one project. Every response and every failure is counted. */
export class Traffic {
  readonly count: TrafficCount = { answered: 0, expected: 0, lost: [] }
  readonly #origin: string
  readonly #host: string
  readonly #agent = new Agent({ connections: 2, pipelining: 1, headersTimeout: timeoutMs, bodyTimeout: timeoutMs })
  #isDown = false
  /** How often the project was stopped: a request during which this number changes overlapped with a stop. */
  #downs = 0
  #isStopped = false
  #requesting: Promise<void> = Promise.resolve()

  constructor(edgeUrl: string, host: string) {
    this.#origin = new URL(edgeUrl).origin
    this.#host = host
  }

  start(): void {
    this.#requesting = this.#requestUntilStopped()
  }

  /** Failures are expected from now on, until `expectUp`. */
  expectDown(): void {
    this.#isDown = true
    this.#downs += 1
  }

  /** Waits until the project responds again; from then on every failure is a lost request. */
  async expectUp(): Promise<void> {
    for (const end = performance.now() + comesBackWithinMs; ; await pause(100)) {
      const page = await this.page('/').catch((error: Error) => ({ status: 0, text: error.message }))
      if (page.status === 200) break
      if (performance.now() > end) throw new Error(`${this.#host} did not come back: ${page.status} ${page.text.slice(0, 200)}`)
    }
    this.#isDown = false
  }

  /** Sends one request over a new connection. */
  page(path: string): Promise<{ status: number; text: string }> {
    return getPage(this.#origin, this.#host, path)
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#requesting
    await this.#agent.close()
  }

  async #requestUntilStopped(): Promise<void> {
    while (!this.#isStopped) {
      await this.#request()
      await pause(everyMs)
    }
  }

  async #request(): Promise<void> {
    const [wasDown, downs, begun] = [this.#isDown, this.#downs, new Date()]
    const failure = await this.#failureOfRequest()
    if (!failure) this.count.answered += 1
    else if (wasDown || this.#isDown || downs !== this.#downs) this.count.expected += 1
    else this.count.lost.push(`${begun.toISOString()} ${this.#host}: ${failure}`)
  }

  async #failureOfRequest(): Promise<string | null> {
    try {
      const { statusCode, body } = await this.#agent.request({
        origin: this.#origin,
        path: '/',
        method: 'GET',
        headers: { host: this.#host },
      })
      const text = await body.text()
      return statusCode === 200 ? null : `${statusCode} ${text.slice(0, 120)}`
    } catch (error) {
      return (error as Error).message
    }
  }
}
