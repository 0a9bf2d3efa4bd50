/** What lies in other modules and is looked at from time to time. Each may give the same thing at every look. */
export interface Watched {
  tokens?: TokenExpiries
  certificates?: CertificateExpiries
  backups?: MissedBackups
  servers?: WatchedServers
}

export interface ExpiringToken {
  id: string
  name: string
  lastFour: string
  userId: string
  organizationId: string
  createdAt: Date
  expiresAt: Date
}

export interface TokenExpiries {
  /** Tokens that are still good at `now` and expire by `until`. */
  expiring(now: Date, until: Date): Promise<ExpiringToken[]>
}

export interface ExpiringCertificate {
  hostname: string
  organizationId: string
  projectId: string
  issuedAt: Date
  expiresAt: Date
}

export interface CertificateExpiries {
  /** Certificates in use that expire by `until`, or have. One that was renewed is another certificate. */
  expiring(until: Date): Promise<ExpiringCertificate[]>
}

export interface MissedBackup {
  policyId: string
  organizationId: string
  projectId: string
  projectName: string
  /** The time of the schedule at which nothing started. */
  dueAt: Date
}

export interface MissedBackups {
  /** Backups that should have started by now and did not. */
  missed(now: Date): Promise<MissedBackup[]>
}

export interface WatchedServer {
  id: string
  name: string
  organizationId: string
}

export interface WatchedServers {
  list(): Promise<WatchedServer[]>
  /** Resolves when the server answers; else rejects, with the reason in words. */
  check(serverId: string, abort: AbortSignal): Promise<void>
}
