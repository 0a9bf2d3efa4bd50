import type { RequestHead } from '../message/request-head.ts'
import type { EdgeDeliveries } from '../protocol/edge-table.ts'
import { Balance } from './balance.ts'
import { Upstream } from './upstream.ts'

/** The only path of the control plane that is reachable under a project's host name. */
const path = /^\/api\/webhooks\/git\/[a-z]{1,20}(?:\?|$)/

/** Maximum concurrent deliveries: each waits in the control plane until its signature is checked, and more are rejected here. */
const maxConcurrent = 64

/** Webhook deliveries of git hosts to a project's host name. */
export class Deliveries {
  readonly upstream: Upstream
  readonly balance: Balance
  readonly #hostnames: ReadonlySet<string>
  readonly #key: string

  constructor({ hostnames, to, key }: EdgeDeliveries, previous: Deliveries | undefined) {
    const existing = previous?.upstream
    this.upstream =
      existing?.host === to.host && existing.port === to.port
        ? existing
        : new Upstream({ id: `control ${to.host}:${to.port}`, ...to })
    this.balance = new Balance([{ upstream: this.upstream, weight: 1 }])
    this.#hostnames = new Set(hostnames)
    this.#key = key
  }

  matches({ method, host, target }: RequestHead): boolean {
    return method === 'POST' && this.#hostnames.has(host) && path.test(target)
  }

  get isFull(): boolean {
    return this.upstream.inFlight >= maxConcurrent
  }

  /** Sent before the client's headers: of two headers with this name the control plane reads the first. */
  headersFor(client: string, protocol: string): string {
    return edgeHeader(this.#key, client, protocol)
  }
}

/** The header that reports the client's address and protocol to the control plane. */
export const edgeHeader = (key: string, client: string, protocol: string): string =>
  `berth-edge: ${key} ${client} ${protocol}\r\n`
