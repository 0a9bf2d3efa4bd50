import type { Role } from '@berth/contract'
import type { Config } from '../../config.ts'
import type { Clock } from '../../db/clock.ts'
import type { Log } from '../../db/log.ts'
import type { Database } from '../../db/open.ts'
import type { Dns } from '../../drivers/dns/dns.ts'
import type { Git } from '../../drivers/git/git.ts'
import type { LogStore } from '../../log-store/log-store.ts'
import type { Scrubber } from '../../secrets/scrubber.ts'
import type { SecretBox } from '../../secrets/secret-box.ts'
import type { StreamTokens } from '../access/index.ts'
import type { Neighbours } from './neighbours.ts'

export interface ProjectsDeps {
  database: Database
  clock: Clock
  log: Log
  secretBox: SecretBox
  scrubber: Scrubber
  streamTokens: StreamTokens
  /** What a person is in an organisation now; undefined when they have left it. */
  roleOf(userId: string, organizationId: string): Promise<Role | undefined>
  git: Git
  dns: Dns
  logStore: LogStore
  settings: ProjectsSettings
  /** Where browsers reach this instance, without a slash at the end. */
  publicUrl: () => string
  /** Filled in by those who assemble the instance, once the modules above exist. */
  neighbours: Neighbours
}

export type ProjectsSettings = Pick<
  Config,
  'mode' | 'host' | 'dataDir' | 'baseDomain' | 'edgePort' | 'edgeTlsPort' | 'projectRoots' | 'github'
>

export const nowOf = ({ clock }: Pick<ProjectsDeps, 'clock'>): number => clock.now().getTime()
