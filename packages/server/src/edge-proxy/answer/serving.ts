import type { CertificateRequests } from '../limits/certificate-requests.ts'
import type { ConnectionShares } from '../limits/connection-shares.ts'
import type { WakeQueue } from '../limits/wake-queue.ts'
import type { RequestCounters } from '../records/request-counters.ts'
import type { RequestRecords } from '../records/request-records.ts'
import type { Routing } from '../routing/routing.ts'
import type { StaticSites } from '../static/static-sites.ts'

/** State shared by all connections of one worker. */
export interface Serving {
  /** Replaced as a whole; a request reads it once. */
  routing: Routing
  readonly wakeQueue: WakeQueue
  readonly certificateRequests: CertificateRequests
  readonly shares: ConnectionShares
  readonly records: RequestRecords
  readonly counters: RequestCounters
  readonly sites: StaticSites
  /** Connections come from nginx, which names the client of each request. */
  readonly isBehindNginx: boolean
  /** The port at which clients reach https; 0 if there is none. */
  httpsPort: number
  /** Responses carry `connection: close` from now on. */
  isClosing: boolean
  /** Milliseconds since the epoch, refreshed several times a second: good enough for time limits. */
  now: number
}

const idPrefix =
  Date.now().toString(36) +
  Math.floor(Math.random() * 36 ** 6)
    .toString(36)
    .padStart(6, '0')
/** All values of the last two characters of an id: formatting a number in base 36 for every request is expensive. */
const idSuffixes = Array.from({ length: 36 ** 2 }, (_, at) => at.toString(36).padStart(2, '0'))
let blockPrefix = idPrefix
let blockCount = 0
let nextSuffix = 0

/** Unique across restarts and workers through the time and the random part. An id is not secret and may be guessable. */
export function nextRequestId(): string {
  if (nextSuffix === idSuffixes.length) {
    blockCount += 1
    blockPrefix = idPrefix + blockCount.toString(36)
    nextSuffix = 0
  }
  const id = blockPrefix + idSuffixes[nextSuffix]!
  nextSuffix += 1
  return id
}

let dateSecond = 0
let dateText = ''

/** A Date header line, recomputed once per second. */
export function dateLine(now: number): string {
  const second = Math.floor(now / 1000)
  if (second !== dateSecond) {
    dateSecond = second
    dateText = `date: ${new Date(now).toUTCString()}\r\n`
  }
  return dateText
}
