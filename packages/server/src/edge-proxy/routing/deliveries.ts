import type { RequestHead } from '../message/request-head.ts'
import type { EdgeDeliveries } from '../protocol/edge-table.ts'
import { Balance } from './balance.ts'
import { Upstream } from './upstream.ts'

/** Nothing else of the control plane is reached by the name of a project. */
const path = /^\/api\/webhooks\/git\/[a-z]{1,20}(?:\?|$)/

/** What git hosts deliver waits in the control plane until it is judged: more than this at once is refused here. */
const mostAtOnce = 64

/** Deliveries of git hosts that come to the host name of a project. */
export class Deliveries {
  readonly upstream: Upstream
  readonly balance: Balance
  readonly #hostnames: ReadonlySet<string>
  readonly #key: string

  constructor({ hostnames, to, key }: EdgeDeliveries, previous: Deliveries | undefined) {
    const known = previous?.upstream
    this.upstream =
      known?.host === to.host && known.port === to.port ? known : new Upstream({ id: `control ${to.host}:${to.port}`, ...to })
    this.balance = new Balance([{ upstream: this.upstream, weight: 1 }])
    this.#hostnames = new Set(hostnames)
    this.#key = key
  }

  isOne({ method, host, target }: RequestHead): boolean {
    return method === 'POST' && this.#hostnames.has(host) && path.test(target)
  }

  get isFull(): boolean {
    return this.upstream.inFlight >= mostAtOnce
  }

  /** Before all that the client has sent: of two lines with that name the first one counts. */
  headersFor(client: string): string {
    return `berth-edge: ${this.#key} ${client}\r\n`
  }
}
