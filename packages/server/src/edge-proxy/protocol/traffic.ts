/**
 * What one environment was asked in one minute, as far as one counter has seen it. Sent again whenever it has grown, always whole: who
 * keeps it by counter and minute may hear it as often as it comes. Those of several counters add up.
 */
export interface TrafficMinute {
  /** Names the counter: of one worker of one edge, from when its environment came into the table. */
  counter: string
  projectId: string
  environment: string
  /** Milliseconds since 1970 of the minute's beginning. */
  at: number
  requests: number
  errors4xx: number
  errors5xx: number
  bytesOut: number
  /** From `packLatency`. */
  latency: number[]
}
