/**
 * Traffic of one environment in one minute, as measured by one counter. It is sent again, always complete, whenever it has grown: a
 * receiver that stores it by counter and minute may receive it any number of times. Values of several counters are added up.
 */
export interface TrafficMinute {
  /** Id of the counter: one worker of one edge, since its environment was added to the table. */
  counter: string
  projectId: string
  environment: string
  /** Start of the minute, in milliseconds since 1970. */
  at: number
  requests: number
  errors4xx: number
  errors5xx: number
  bytesOut: number
  /** Output of `packLatency`. */
  latency: number[]
}
