import type { EdgeListening } from '../../edge-proxy/protocol/edge-listening.ts'
import type { EdgeTable } from '../../edge-proxy/protocol/edge-table.ts'
import type { RequestRecord, SwitchCounters } from '../../edge-proxy/protocol/request-record.ts'
import type { TrafficMinute } from '../../edge-proxy/protocol/traffic.ts'

export interface EdgeApplied {
  version: number
  /** Parts that were left out, such as a rule that cannot be read. */
  warnings: string[]
  /** Hosts whose entry is not in force, with why; the rest of the table is, and these are served as they were before. */
  refused: Record<string, string>
}

/**
 * The control plane's side of whatever serves the projects' hosts. The edge lives in its own process and goes on serving the
 * last table while the control plane is away.
 */
export interface EdgeDriver {
  /** Finds the edge that is running, or starts one; afterwards keeps one running. Resolves when it serves. */
  start(): Promise<EdgeListening>
  /**
   * Replaces the whole table. Resolves when it is in force for every request that comes in from then on, also on connections
   * that are already open; requests under way end where they began. Concurrent calls take effect in their order.
   * Entries of the table are compared with those of the next one: a host that changes is a new object, not the old one changed.
   * While the edge restarts the call waits for it.
   */
  apply(table: EdgeTable, abort?: AbortSignal): Promise<EdgeApplied>
  /** Resolves when no request is under way to that upstream, or at the time limit with the number that is left. */
  drain(upstreamId: string, timeoutMs: number, abort?: AbortSignal): Promise<{ inFlight: number }>
  /** Every request once, in batches; under overload or while the control plane is away the oldest are dropped and counted. */
  onRequests(listener: (batch: RequestRecord[], dropped: number) => void): () => void
  /** What was asked of environments, minute by minute, also while the control plane was away for a while. */
  onTraffic(listener: (minutes: TrafficMinute[]) => void): () => void
  /** A request is held for a sleeping project. Said again while requests wait, so a listener may ignore repeats. */
  onWake(listener: (projectId: string, hostname: string) => void): () => void
  /** Milliseconds since the epoch of each project's last request; one that has requests under way has `now`. */
  activity(): Promise<Record<string, number>>
  /** Hits of each rule since the last call that answered, dry runs included. */
  ruleHits(): Promise<Record<string, number>>
  /** By project or deployment id, since the edge started: read before and after a switch and subtract. */
  switchCounters(id: string): Promise<SwitchCounters>
  /** With `keepServing` only lets go of the edge; otherwise it finishes what is under way and is gone when this resolves. */
  stop(options: { keepServing: boolean; graceMs?: number }): Promise<void>
}
