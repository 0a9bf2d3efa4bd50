import type { QuotaName, Role } from '@berth/contract'
import type { Dns } from '../../drivers/dns/dns.ts'
import type { Git } from '../../drivers/git/git.ts'
import type { UploadStore } from '../../drivers/upload-store/upload-store.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { Log } from '../../platform/log.ts'
import type { LogStore } from '../../platform/log-store/log-store.ts'
import type { Scrubber } from '../../platform/secrets/scrubber.ts'
import type { SecretBox } from '../../platform/secrets/secret-box.ts'
import type { StreamTokens, TransferredGrant } from '../access/index.ts'
import type { HostUrls } from './git-remote.ts'
import type { ProjectPorts } from './project-ports.ts'

export interface ProjectsDeps {
  database: Database
  clock: Clock
  log: Log
  secretBox: SecretBox
  scrubber: Scrubber
  streamTokens: StreamTokens
  /** The user's current role in the organisation; undefined when the user is no longer a member. */
  roleOf(userId: string, organizationId: string): Promise<Role | undefined>
  /** Grants on projects that are being moved; the access module owns them. */
  grants: {
    of(db: Db, projectId: string): Promise<TransferredGrant[]>
    /** Replaces a project's grants; returns those that this organisation cannot have, and why. */
    replace(
      project: { id: string; organizationId: string },
      grants: readonly TransferredGrant[],
      db: Db,
    ): Promise<(TransferredGrant & { reason: string })[]>
  }
  git: Git
  dns: Dns
  logStore: LogStore
  /** Object store that clients of a cloud upload to; absent: clients upload to this instance. */
  uploadStore?: UploadStore | undefined
  settings: ProjectsSettings
  /** URL at which browsers reach this instance, without a trailing slash. */
  publicUrl: () => string
  /** Set by the code that assembles the instance, once the modules above this one exist. */
  projectPorts: ProjectPorts
}

/** null: unlimited. */
export type QuotaLimits = Record<QuotaName, number | null>

/** The instance settings that projects depend on. */
export interface ProjectsSettings {
  mode: 'self-hosted' | 'cloud'
  host: string
  /** Addresses for the DNS records of domains; null: unknown. */
  publicAddress: readonly string[] | null
  dataDir: string
  baseDomain: string
  edgePort: number
  edgeTlsPort: number | null
  projectRoots: readonly string[]
  hostUrls(): HostUrls
  /** Default limits of each organisation; an operator can override them for one organisation. */
  quotas: QuotaLimits & { uploads: number | null }
}

export const nowOf = ({ clock }: Pick<ProjectsDeps, 'clock'>): number => clock.now().getTime()
