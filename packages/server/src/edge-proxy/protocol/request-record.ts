/** A request, as in the contract's server logs. Sizes are of the bodies. */
export interface RequestRecord {
  id: string
  /** ISO 8601. */
  time: string
  ip: string
  method: string
  host: string
  /** Path without the query, cut at 2 KiB. */
  path: string
  /** Status sent to the client; 499 if the client disconnected before that. */
  status: number
  durationMs: number
  bytesIn: number
  bytesOut: number
  userAgent: string
  environment: string | null
  /** Null if the project has no services. */
  service: string | null
  deploymentId: string | null
  projectId: string | null
}

/** Counts of one project or deployment. */
export interface RequestTotals {
  /** Requests that have ended. */
  total: number
  /** Requests for which the edge could not get a complete response. An application's own 500 is not counted. */
  failed: number
}
