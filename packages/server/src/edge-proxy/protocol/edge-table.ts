import type { ListenerOwner } from '../../platform/listener/listener-owner.ts'

/**
 * What the edge serves, as plain JSON. The control plane computes the whole table from the database and hands it over; the edge
 * holds no other opinion about hosts. It contains private keys: it travels over a 0600 socket and rests in a 0600 file only.
 */
export interface EdgeTable {
  /** Chosen by the control plane; the edge only reports which one is in force. */
  version: number
  /** Host name in lower case without a port, exact (`app.example.com`) or wildcard (`*.example.com`, any depth). Exact wins, then the longest wildcard. */
  hosts: Record<string, EdgeHost>
  /** By host name, exact or `*.example.com` (one label, as certificates have it). */
  certificates?: Record<string, EdgeCertificate>
  /** ACME http-01: token → key authorization, served on every host at `/.well-known/acme-challenge/`. */
  challenges?: Record<string, string>
  /** Addresses or CIDRs whose `X-Forwarded-*` count. Empty: nobody's. */
  trustedProxies?: string[]
  limits?: Partial<EdgeLimits>
  deliveries?: EdgeDeliveries
  /** Where redirects to https lead, when clients reach it on another port than the edge listens on. */
  publicHttpsPort?: number
}

/** What git hosts deliver to these host names goes to the control plane, whatever else is served there. */
export interface EdgeDeliveries {
  hostnames: string[]
  to: { host: string; port: number }
  /** By it the control plane knows that it is the edge who names the client. */
  key: string
}

export interface EdgeHost {
  target: EdgeTarget
  rules?: EdgeRule[]
  /** Of the project: what is asked here is counted for it; without it, for none. */
  environment?: string
  /** The service that answers, where the project has several. */
  service?: string
  /** Plain http is sent to https (308), ACME challenges aside. Set it only while a certificate is in the table. */
  redirectToHttps?: boolean
}

export type EdgeTarget =
  | UpstreamsTarget
  | StaticTarget
  | SleepingTarget
  | DisabledTarget
  | PausedTarget
  | FailedTarget
  | RedirectTarget

/** Running copies of one deployment. */
export interface UpstreamsTarget {
  kind: 'upstreams'
  projectId: string
  deploymentId: string
  upstreams: EdgeUpstream[]
}

/** `id` names one copy for ever; after a restart it has another address. */
export interface EdgeUpstream {
  id: string
  host: string
  port: number
  /** A connection that somebody else takes is closed before a byte is said on it. */
  listener?: ListenerOwner
  /** Share of the requests against its siblings, a whole number from 1 to 100; default 1, 0 takes nothing. */
  weight?: number
}

/** Files of one deployment; the folder does not change once it is in a table. */
export interface StaticTarget {
  kind: 'static'
  projectId: string
  deploymentId: string
  folder: string
  /** Paths that name no file answer with `index.html` and 200. */
  spa?: boolean
  /** File below the folder that is sent with 404; default `404.html` where there is one. */
  notFoundPage?: string
}

/** Requests are held and the control plane is asked to wake the project. */
export interface SleepingTarget {
  kind: 'sleeping'
  projectId: string
  /** Default 60,000. */
  holdTimeoutMs?: number
}

export interface DisabledTarget {
  kind: 'disabled'
  projectId: string
}

/** Stopped for a moment although its owner has it enabled. */
export interface PausedTarget {
  kind: 'paused'
  projectId: string
  reason: 'restore' | 'move' | 'start'
}

export interface FailedTarget {
  kind: 'failed'
  projectId: string
}

/** Path and query are kept (308). */
export interface RedirectTarget {
  kind: 'redirect'
  projectId?: string
  /** Host name, with a port only where it is not the one the request came in on. */
  to: string
}

export interface EdgeCertificate {
  /** PEM, leaf first. */
  cert: string
  /** PEM. */
  key: string
}

/** A route rule as the contract has it. */
export type EdgeRule = EdgeRuleBase &
  (
    | { kind: 'rate-limit'; config: RateLimitConfig }
    | { kind: 'ban'; config: BanConfig }
    | { kind: 'allow-deny'; config: AllowDenyConfig }
  )

export interface EdgeRuleBase {
  id: string
  enabled: boolean
  /** Compared without case with every way in which a common server reads the path; one match is enough. */
  pathPrefix?: string | null
  hostname?: string | null
  /** Counts its hits and lets the request pass. */
  dryRun?: boolean
  /** ISO 8601. */
  expiresAt?: string | null
}

/** `requests` in any `windowSeconds` per client address; up to `burst` unused ones of earlier windows are saved for a peak. */
export interface RateLimitConfig {
  requests: number
  windowSeconds: number
  burst?: number
  /** Default 429. */
  status?: number
}

export interface BanConfig {
  /** Addresses or CIDRs. */
  ips?: string[]
  /** Found anywhere in the User-Agent, whatever the case. */
  userAgents?: string[]
}

/** A request passes when it is not in `deny`, is in `allow` where that is given, and has one of `methods` where they are given. */
export interface AllowDenyConfig {
  allow?: string[]
  deny?: string[]
  methods?: string[]
}

export interface EdgeLimits {
  /** Request line and headers together; more is 431. */
  headBytes: number
  /** From the first byte of a head to its last; then 408. */
  headTimeoutMs: number
  /** An idle kept-alive client. */
  keepAliveMs: number
  /** No byte of a request body that is still owed. */
  requestIdleMs: number
  upstreamConnectMs: number
  /** From the end of the request to the first byte of the answer; then 504. */
  responseHeadMs: number
  /** No byte of an answer that is still owed, or a client that takes none. */
  responseIdleMs: number
  /** No byte either way on an upgraded connection. */
  tunnelIdleMs: number
  /** Requests held for sleeping projects at once, over all of them, and their bytes. */
  heldRequests: number
  heldBytes: number
  /** Of all clients at once, in each worker. When it is full, idle ones make room. */
  connections: number
  /** Part of the connections, and of what is held, that one client may have: an address, or a /64 of IPv6. */
  clientShare: number
  /** Part of them that may be under way to one project. */
  projectShare: number
}

export const defaultLimits: EdgeLimits = {
  headBytes: 16_384,
  headTimeoutMs: 15_000,
  keepAliveMs: 65_000,
  requestIdleMs: 60_000,
  upstreamConnectMs: 5_000,
  responseHeadMs: 120_000,
  responseIdleMs: 300_000,
  tunnelIdleMs: 3_600_000,
  heldRequests: 2_000,
  heldBytes: 33_554_432,
  connections: 8_000,
  clientShare: 0.25,
  projectShare: 0.5,
}

export const emptyTable: EdgeTable = { version: 0, hosts: {} }
