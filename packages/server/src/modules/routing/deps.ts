import type { Acme } from '../../drivers/acme/acme.ts'
import type { Dns } from '../../drivers/dns/dns.ts'
import type { DnsChallenge } from '../../drivers/dns-challenge/dns-challenge.ts'
import type { EdgeDriver } from '../../drivers/edge/edge.ts'
import type { TlsProbe } from '../../drivers/tls-probe/tls-probe.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database.ts'
import type { InstanceRow, LiveEnvironmentRow } from '../../platform/db/tables/deployments.ts'
import type { Log } from '../../platform/log.ts'
import type { LogStore } from '../../platform/log-store/log-store.ts'
import type { SecretBox } from '../../platform/secrets/secret-box.ts'
import type { Metered } from '../projects/index.ts'

export interface EdgeDeps {
  database: Database
  clock: Clock
  log: Log
  secretBox: SecretBox
  driver: EdgeDriver
  acme: Acme
  /** Proves wildcard names; null if no DNS provider is configured. */
  dnsChallenge: DnsChallenge | null
  dns: Dns
  tlsProbe: TlsProbe
  logStore: LogStore
  /** Live environments, and the instances that may receive requests. */
  served(): Promise<{ live: LiveEnvironmentRow[]; instances: InstanceRow[] }>
  /** Control plane address for git host deliveries to a project's host name; null while it does not listen. */
  control(): { host: string; port: number; key: string } | null
  /** The projects and environments with metrics of their own. */
  metered(): Promise<Metered>
  publicUrl(): string
  settings: {
    mode: 'self-hosted' | 'cloud'
    baseDomain: string
    edgePort: number
    edgeTlsPort: number | null
    trustedProxies: readonly string[]
    acmeDirectory: string
    acmeOrdersPerHour: number
    dns: { waitSeconds: number }
  }
}

export const nowOf = ({ clock }: Pick<EdgeDeps, 'clock'>): number => clock.now().getTime()
