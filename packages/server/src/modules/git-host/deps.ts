import type { GitHostProvider } from '@berth/contract'
import type { GitHost } from '../../drivers/git-host/git-host.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database.ts'
import type { Log } from '../../platform/log.ts'
import type { Scrubber } from '../../platform/secrets/scrubber.ts'
import type { Secret } from '../../platform/secrets/secret.ts'
import type { SecretBox } from '../../platform/secrets/secret-box.ts'

export interface GitHostDeps {
  database: Database
  clock: Clock
  log: Log
  secretBox: SecretBox
  /** Learns every token before it is used. */
  scrubber: Pick<Scrubber, 'register'>
  /** Where browsers and git hosts reach this instance, without a slash at the end. */
  publicUrl: () => string
  hosts: Readonly<Record<GitHostProvider, GitHost>>
  /** What deliveries of the instance's own app are signed with. */
  webhookSecrets: Readonly<Partial<Record<GitHostProvider, Secret>>>
}

export const nowOf = ({ clock }: Pick<GitHostDeps, 'clock'>): number => clock.now().getTime()
