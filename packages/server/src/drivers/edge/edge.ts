import type { EdgeListening } from '../../edge-proxy/protocol/edge-listening.ts'
import type { EdgeTable } from '../../edge-proxy/protocol/edge-table.ts'
import type { RequestRecord, RequestTotals } from '../../edge-proxy/protocol/request-record.ts'
import type { TrafficMinute } from '../../edge-proxy/protocol/traffic.ts'

export interface EdgeApplied {
  version: number
  /** Parts that were left out, such as an unreadable rule. */
  warnings: string[]
  /** Hosts whose new entry is not active, with the reason: they are served as before. All other hosts are active. */
  refused: Record<string, string>
}

/**
 * Interface of the control plane to the edge, which serves the projects' hosts. The edge is a separate process and keeps serving
 * the last table while the control plane is down.
 */
export interface EdgeDriver {
  /** The edge was found running at the start: an earlier control plane started it. */
  readonly isAdopted: boolean
  /** Finds the running edge or starts one, and restarts it when it dies. Resolves when it serves. */
  start(): Promise<EdgeListening>
  /**
   * Replaces the whole table. Resolves when it is active for every new request, also on open connections; requests in flight
   * finish on their old target. Concurrent calls take effect in order. The previous table is kept by reference to find the
   * differences: a changed host must be a new object, not the old one mutated. While the edge restarts, the call waits.
   */
  apply(table: EdgeTable, abort?: AbortSignal): Promise<EdgeApplied>
  /** Resolves when no request to that upstream is in flight, or at the timeout with the number that remain. */
  drain(upstreamId: string, timeoutMs: number, abort?: AbortSignal): Promise<{ inFlight: number }>
  /** Reports each request once, in batches; on overload or while the control plane is down, the oldest are dropped and counted. */
  onRequests(listener: (batch: RequestRecord[], dropped: number) => void): () => void
  /** Reports traffic per environment and minute, including minutes while the control plane was down for a short time. */
  onTraffic(listener: (minutes: TrafficMinute[]) => void): () => void
  /** Reports a request that waits for a sleeping project. Repeated while requests wait, so a listener may ignore repeats. */
  onWake(listener: (projectId: string, hostname: string) => void): () => void
  /** Reports the use of a host that requests a certificate. Repeated while the host is used and has none. */
  onCertificateWanted(listener: (hostname: string) => void): () => void
  /** Time of each project's last request, in milliseconds since the epoch; `now` for a project with requests in flight. */
  activity(): Promise<Record<string, number>>
  /** Hits of each rule since the last successful call, dry runs included. */
  ruleHits(): Promise<Record<string, number>>
  /** Request counts by project or deployment id since the edge started: read before and after a switch, and subtract. */
  requestTotals(id: string): Promise<RequestTotals>
  /**
   * Stops the driver. `keepServing` only disconnects; otherwise the edge finishes its requests and has ended when this resolves.
   */
  stop(options: { keepServing: boolean; graceMs?: number }): Promise<void>
}
