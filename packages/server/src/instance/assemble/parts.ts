import type { RateLimitName } from '@berth/contract'
import type { CloudApi } from '../../drivers/cloud-api/cloud-api.ts'
import type { Dns } from '../../drivers/dns/dns.ts'
import type { Git } from '../../drivers/git/git.ts'
import type { ImageRegistry } from '../../drivers/registry/image-registry.ts'
import type { UploadStore } from '../../drivers/upload-store/upload-store.ts'
import type { Resolve } from '../../drivers/web-request/resolve.ts'
import type { Loaders } from '../../http/handler.ts'
import type { CloudDeps } from '../../modules/cloud/index.ts'
import type { CloudLinks } from '../../modules/git-host/index.ts'
import type { NotificationsDeps } from '../../modules/notifications/index.ts'
import type { ProjectPorts } from '../../modules/projects/index.ts'
import type { ServersDeps } from '../../modules/servers/index.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database.ts'
import type { Job } from '../../platform/jobs/declare.ts'
import type { Schedule } from '../../platform/jobs/schedules.ts'
import type { LogStore } from '../../platform/log-store/log-store.ts'
import type { Scrubber } from '../../platform/secrets/scrubber.ts'
import type { SecretBox } from '../../platform/secrets/secret-box.ts'
import type { Config } from '../config/config.ts'
import type { Drivers } from '../drivers/drivers.ts'
import type { GitHostDrivers } from '../drivers/git-hosts.ts'
import type { Logger } from '../logger.ts'

/** What an instance is made of; tests bring their own database, clock and drivers. */
export interface Parts {
  config: Config
  version: string
  database: Database
  secretBox: SecretBox
  /** The one that the logger writes through. */
  scrubber: Scrubber
  logger: Logger
  clock?: Clock
  rateLimits?: Partial<Record<RateLimitName, number>>
  /** Between two looks at who reads the open streams. */
  streamLookMs?: number
  /** Without them nothing is deployed or served: those routes answer 501. */
  drivers?: Drivers
  /** What a test puts in the place of the modules above projects. */
  projectPorts?: ProjectPorts
  git?: Git
  /** What says which digest an image has; a test brings its own. */
  imageRegistry?: ImageRegistry
  dns?: Dns
  /** Where uploads are sent to instead of what the settings say. */
  uploadStore?: UploadStore
  cloudApi?: CloudApi
  /** With a cloud that goes away in the middle of a move. */
  retryLimits?: CloudDeps['retryLimits']
  gitHosts?: GitHostDrivers
  /** Where a cloud signs in at git hosts for this instance. */
  cloudLinks?: CloudLinks
  /** What names mean to a guarded git; a test brings its own. */
  resolve?: Resolve
  /** Whoever brings one closes it. */
  logStore?: LogStore
  /** What reads a server; a test brings its own. */
  serverReader?: ServersDeps['readerOf']
  /** How notifications leave, and what is watched for some; a test brings its own. */
  deliveryDrivers?: NotificationsDeps['drivers']
  watched?: NotificationsDeps['watched']
}

/** What a module hands in: handlers by the names of its rows, loaders of what its paths name, its durable work. */
export interface Module {
  handlers: object
  loaders?: Loaders
  jobs?: readonly Job<unknown, undefined>[]
  /** Set before the jobs start. */
  schedules?: readonly Schedule<unknown>[]
}

/** What every module is given. */
export type Common = Pick<Parts, 'database' | 'secretBox' | 'scrubber'> & { clock: Clock; log: Logger; publicUrl(): string }
