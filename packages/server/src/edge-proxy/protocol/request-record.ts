/** One request as the contract's server logs show it. Sizes are of the bodies. */
export interface RequestRecord {
  id: string
  /** ISO 8601. */
  time: string
  ip: string
  method: string
  host: string
  /** With the query, cut at 2 KiB. */
  path: string
  /** What was sent to the client; 499 when it went away before that. */
  status: number
  durationMs: number
  bytesIn: number
  bytesOut: number
  userAgent: string
  environment: string | null
  /** Null where the project is one app. */
  service: string | null
  deploymentId: string | null
  projectId: string | null
}

export interface SwitchCounters {
  /** Requests that have ended. */
  total: number
  /** Of these, the ones that the edge could not get a whole answer for. An application's own 500 is not among them. */
  failed: number
}
