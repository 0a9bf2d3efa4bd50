import http from 'node:http'
import https from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { type AddressReach, reachOf } from '../web-request/address-reach.ts'
import { WebRequestRefused } from '../web-request/failures.ts'
import { publicNames, type Resolve, systemNames } from '../web-request/resolve.ts'
import { acceptableAddresses } from '../web-request/web-request.ts'

export interface AgentOptions {
  resolve?: Resolve
  classify?: (address: string) => AddressReach
}

/** Pools of keep-alive connections, one per cloud. The address of each new connection is checked, and only that address is used. */
export class KeepAliveAgents {
  readonly #agents = new Map<string, http.Agent>()
  readonly #options: AgentOptions

  constructor(options: AgentOptions = {}) {
    this.#options = options
  }

  /** Streams have their own pool, so that open streams never block ordinary requests. */
  agentFor(url: URL, { mayBeInside, isStream }: { mayBeInside: boolean; isStream: boolean }): http.Agent {
    const key = `${url.origin} ${mayBeInside} ${isStream}`
    const existing = this.#agents.get(key)
    if (existing) return existing
    const scheme = url.protocol === 'https:' ? https : http
    const lookup = guardedLookup(
      url,
      this.#mayReach(mayBeInside),
      this.#options.resolve ?? (mayBeInside ? systemNames : publicNames()),
    )
    const agent = new scheme.Agent({
      keepAlive: true,
      maxSockets: isStream ? Number.POSITIVE_INFINITY : 128,
      maxFreeSockets: isStream ? 1 : 16,
      lookup,
      autoSelectFamily: true,
    } as http.AgentOptions)
    this.#agents.set(key, agent)
    return agent
  }

  /** Checks an IP address in the URL here, because it is never looked up. */
  refuseLiteral(url: URL, mayBeInside: boolean): void {
    const host = url.hostname.replace(/^\[|\]$/g, '')
    if (isIP(host) !== 0 && !this.#mayReach(mayBeInside)(host))
      throw new WebRequestRefused(
        'address',
        `${url.hostname} is inside a private or reserved network, where this instance does not send`,
      )
  }

  close(): void {
    for (const agent of this.#agents.values()) agent.destroy()
    this.#agents.clear()
  }

  #mayReach(mayBeInside: boolean): (address: string) => boolean {
    const { classify = reachOf } = this.#options
    return (address) => classify(address) === 'public' || (mayBeInside && classify(address) === 'inside')
  }
}

function guardedLookup(url: URL, mayReach: (address: string) => boolean, resolve: Resolve): LookupFunction {
  return (_name, _options, callback) => {
    acceptableAddresses(url, resolve, mayReach, AbortSignal.timeout(4_000)).then(
      (addresses) =>
        callback(
          null,
          addresses.map((address) => ({ address, family: isIP(address) })),
        ),
      (error: NodeJS.ErrnoException) => callback(error, []),
    )
  }
}
