import type { RateLimitName } from '@berth/contract'
import type { CloudApi } from '../../drivers/cloud-api/cloud-api.ts'
import type { Dns } from '../../drivers/dns/dns.ts'
import type { Git } from '../../drivers/git/git.ts'
import type { MachineReader } from '../../drivers/machine/machine-reader.ts'
import type { ImageRegistry } from '../../drivers/registry/image-registry.ts'
import type { UploadStore } from '../../drivers/upload-store/upload-store.ts'
import type { Resolve } from '../../drivers/web-request/resolve.ts'
import type { Loaders } from '../../http/handler.ts'
import type { WorkerProxy } from '../../http/worker-proxy.ts'
import type { InstanceArchive } from '../../modules/backups/index.ts'
import type { DeploymentsDeps } from '../../modules/deployments/index.ts'
import type { CloudLinks } from '../../modules/git-host/index.ts'
import type { NotificationsDeps } from '../../modules/notifications/index.ts'
import type { ProjectPorts } from '../../modules/projects/index.ts'
import type { ServersDeps } from '../../modules/servers/index.ts'
import type { TransfersDeps } from '../../modules/transfers/index.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database.ts'
import type { Job } from '../../platform/jobs/declare.ts'
import type { Schedule } from '../../platform/jobs/schedules.ts'
import type { LogStore } from '../../platform/log-store/log-store.ts'
import type { MetricSource } from '../../platform/metrics/metric-source.ts'
import type { ProcessKeys } from '../../platform/secrets/process-keys.ts'
import type { Scrubber } from '../../platform/secrets/scrubber.ts'
import type { SecretBox } from '../../platform/secrets/secret-box.ts'
import type { Config } from '../config/config.ts'
import type { Drivers } from '../drivers/drivers.ts'
import type { InstanceGitHosts } from '../drivers/git-hosts.ts'
import type { Logger } from '../logger.ts'
import type { NewerVersions } from '../upgrade/version-check.ts'

/** The parts of an instance; tests provide their own database, clock and drivers. */
export interface Parts {
  config: Config
  version: string
  database: Database
  secretBox: SecretBox
  /** Keys of this instance's processes; absent: no API process may forward, and the edge gets a random key. */
  processKeys?: ProcessKeys
  /** The worker of an API process. */
  worker?: WorkerProxy
  /** The scrubber of the logger. */
  scrubber: Scrubber
  logger: Logger
  clock?: Clock
  /** The id of this machine; null: this process runs no projects. Absent in tests: a fixed id. */
  machineId?: string | null
  rateLimits?: Partial<Record<RateLimitName, number>>
  /** Interval between access checks of open streams. */
  streamCheckMs?: number
  /** Intervals between checks of live projects; tests shorten them. */
  watchIntervals?: DeploymentsDeps['watchIntervals'] | undefined
  /** Drivers; without them nothing is deployed or served, and those routes answer 501. */
  drivers?: Drivers
  /** Replaces the modules above projects, for tests. */
  projectPorts?: ProjectPorts
  git?: Git
  /** Resolves image digests; replaced in tests. */
  imageRegistry?: ImageRegistry
  dns?: Dns
  /** Replaces the upload store from the settings. */
  uploadStore?: UploadStore
  cloudApi?: CloudApi
  /** Retry limits for a cloud that becomes unreachable during a transfer. */
  retryLimits?: TransfersDeps['retryLimits']
  gitHosts?: InstanceGitHosts
  /** Signs in at git hosts through a linked cloud. */
  cloudLinks?: CloudLinks
  /** Resolves host names for git; replaced in tests. */
  resolve?: Resolve
  /** Log store; the caller who provides it closes it. */
  logStore?: LogStore
  /** Reads a server; replaced in tests. */
  serverReader?: ServersDeps['readerOf']
  /** Archives of the whole instance; replaced in tests. */
  instanceArchive?: InstanceArchive
  /** Newer versions on the package registry; absent: no check. */
  newerVersions?: NewerVersions | undefined
  /** Reads this machine; replaced in tests. */
  machineReader?: MachineReader
  /** Notification delivery and watchers; replaced in tests. */
  deliveryDrivers?: NotificationsDeps['drivers']
  watched?: NotificationsDeps['watched']
}

/** The interface of a module: handlers by route name, loaders of path objects, and jobs. */
export interface Module {
  handlers: object
  loaders?: Loaders
  jobs?: readonly Job<unknown, undefined>[]
  /** Created before the jobs start. */
  schedules?: readonly Schedule<unknown>[]
  metrics?: readonly MetricSource[]
}

/** Dependencies that every module gets. */
export type Common = Pick<Parts, 'database' | 'secretBox' | 'scrubber'> & { clock: Clock; log: Logger; publicUrl(): string }
