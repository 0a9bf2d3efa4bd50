import type { ListenerOwner } from '../../platform/listener/listener-owner.ts'

/**
 * The routing table of the edge, as JSON. The control plane computes the whole table from the database; the edge has no other
 * source. It contains private keys: it is sent only over a 0600 socket and stored only in a 0600 file.
 */
export interface EdgeTable {
  /** Chosen by the control plane; the edge only reports which version is in effect. */
  version: number
  /** Host name in lower case without a port, exact (`app.example.com`) or wildcard (`*.example.com`, any depth). Exact wins, then the longest wildcard. */
  hosts: Record<string, EdgeHost>
  /** Certificates by host name, exact or `*.example.com` (one label, as in certificates). */
  certificates?: Record<string, EdgeCertificate>
  /** ACME http-01: token → key authorization, served on every host at `/.well-known/acme-challenge/`. */
  challenges?: Record<string, string>
  /** Addresses or CIDRs whose `X-Forwarded-*` headers are trusted. Empty: none. */
  trustedProxies?: string[]
  limits?: Partial<EdgeLimits>
  deliveries?: EdgeDeliveries
  /** The port in redirects to https, if it differs from the port that the edge listens on. */
  publicHttpsPort?: number
}

/** Webhook deliveries of git hosts to these host names are forwarded to the control plane, whatever else is served there. */
export interface EdgeDeliveries {
  hostnames: string[]
  to: { host: string; port: number }
  /** Proves to the control plane that the edge set the client's address. */
  key: string
}

export interface EdgeHost {
  target: EdgeTarget
  rules?: EdgeRule[]
  /** The host name that rules compare with their own, if this host is an alias. Default: the requested one. */
  rulesHostname?: string
  /** The project's environment whose traffic this host counts towards; without it, traffic is not counted. */
  environment?: string
  /** The service that responds, if the project has several. */
  service?: string
  /** Redirects http to https (308), except ACME challenges. Set it only while a certificate is in the table. */
  redirectToHttps?: boolean
  /** Reports the first use of this host to the control plane, which orders its certificate; TLS handshakes wait for it. */
  requestCertificate?: boolean
}

export type EdgeTarget =
  | UpstreamsTarget
  | StaticTarget
  | SleepingTarget
  | DisabledTarget
  | PausedTarget
  | FailedTarget
  | RedirectTarget
  | ControlTarget

/** Running replicas of one deployment. */
export interface UpstreamsTarget {
  kind: 'upstreams'
  projectId: string
  deploymentId: string
  upstreams: EdgeUpstream[]
}

/** A replica: its `id` never changes, its address changes with a restart. */
export interface EdgeUpstream {
  id: string
  host: string
  port: number
  /** The process that must own the listening socket; a connection to any other listener is closed before a byte is sent. */
  listener?: ListenerOwner
  /** Relative share of the requests, a whole number from 1 to 100; default 1, 0 receives none. */
  weight?: number
}

/** Files of one deployment; the folder does not change once it is in a table. */
export interface StaticTarget {
  kind: 'static'
  projectId: string
  deploymentId: string
  folder: string
  /** Paths without a file respond with `index.html` and 200. */
  spa?: boolean
  /** File below the folder that is sent with 404; default `404.html` if it exists. */
  notFoundPage?: string
}

/** Requests wait in the queue, and the edge calls the control plane to wake the project. */
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

/** Temporarily stopped although its owner has it enabled. */
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
  /** Host name, with a port only if it differs from the port of the request. */
  to: string
}

/** The control plane: dashboard and API, over https only. */
export interface ControlTarget {
  kind: 'control'
  projectId?: undefined
  host: string
  port: number
  /** Proves to the control plane that the edge set the client's address and protocol. */
  key: string
}

export interface EdgeCertificate {
  /** PEM, leaf first. */
  cert: string
  /** PEM. */
  key: string
}

/** A route rule, as in the contract. */
export type EdgeRule = EdgeRuleBase &
  (
    | { kind: 'rate-limit'; config: RateLimitConfig }
    | { kind: 'ban'; config: BanConfig }
    | { kind: 'allow-deny'; config: AllowDenyConfig }
  )

export interface EdgeRuleBase {
  id: string
  enabled: boolean
  /** Compared case-insensitively with every way in which common servers read the path; one match is enough. */
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
  /** Substrings of the User-Agent, case-insensitive. */
  userAgents?: string[]
}

/** A request passes if its address is not in `deny`, is in `allow` (if set), and its method is in `methods` (if set). */
export interface AllowDenyConfig {
  allow?: string[]
  deny?: string[]
  methods?: string[]
}

export interface EdgeLimits {
  /** Request line and headers together; more is 431. */
  headBytes: number
  /** Time limit from the first byte of a head to its last; then 408. */
  headTimeoutMs: number
  /** Time limit of an idle keep-alive client. */
  keepAliveMs: number
  /** Time limit without a byte of an incomplete request body. */
  requestIdleMs: number
  upstreamConnectMs: number
  /** Time limit from the end of the request to the first byte of the response; then 504. */
  responseHeadMs: number
  /** Time limit without a byte of an incomplete response, or for a client that does not read. */
  responseIdleMs: number
  /** Time limit without a byte in either direction on an upgraded connection. */
  tunnelIdleMs: number
  /** Maximum number of requests queued for all sleeping projects together, and their bytes. */
  heldRequests: number
  heldBytes: number
  /** Maximum connections of all clients, per worker. At the limit, idle ones are closed. */
  connections: number
  /** Share of the connections, and of the queue, that one client may have: an address, or an IPv6 /64. */
  clientShare: number
  /** Share of the connections that may have a request to one project in progress. */
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
