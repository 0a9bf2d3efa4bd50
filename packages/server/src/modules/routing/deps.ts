import type { Acme } from '../../drivers/acme/acme.ts'
import type { EdgeDriver } from '../../drivers/edge/edge.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database.ts'
import type { InstanceRow, LiveEnvironmentRow } from '../../platform/db/tables/deployments.ts'
import type { Log } from '../../platform/log.ts'
import type { LogStore } from '../../platform/log-store/log-store.ts'
import type { SecretBox } from '../../platform/secrets/secret-box.ts'

export interface EdgeDeps {
  database: Database
  clock: Clock
  log: Log
  secretBox: SecretBox
  driver: EdgeDriver
  acme: Acme
  logStore: LogStore
  /** What deployments have to serve: what each environment is doing, and the instances that requests go to. */
  served(): Promise<{ live: LiveEnvironmentRow[]; instances: InstanceRow[] }>
  /** Where deliveries of git hosts that come to a project's host name go; null while nothing listens there. */
  control(): { host: string; port: number; key: string } | null
  settings: {
    mode: 'self-hosted' | 'cloud'
    baseDomain: string
    edgePort: number
    edgeTlsPort: number | null
    trustedProxies: readonly string[]
    acmeDirectory: string
  }
}

export const nowOf = ({ clock }: Pick<EdgeDeps, 'clock'>): number => clock.now().getTime()
