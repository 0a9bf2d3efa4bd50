import type { MachineProblem } from '@berth/contract'

/** Conditions in other modules that watchers poll. A source may return the same item at every poll. */
export interface Watched {
  tokens?: TokenExpiries
  certificates?: WatchedCertificates
  backups?: MissedBackups
  servers?: WatchedServers
  machine?: WatchedMachine | undefined
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
  /** Valid tokens that expire by `until`. */
  expiring(now: Date, until: Date): Promise<ExpiringToken[]>
}

export interface ExpiringCertificate {
  hostname: string
  organizationId: string
  projectId: string
  issuedAt: Date
  expiresAt: Date
}

export interface WatchedCertificates {
  /** Certificates in use that expire by `until` or have expired. A renewed certificate is a different one. */
  expiring(until: Date): Promise<ExpiringCertificate[]>
  /** Problems of the certificates of the dashboard and the wildcard. */
  ownProblems(): Promise<{ hostname: string; message: string }[]>
  operators(): Promise<Operator[]>
}

/** A user to notify, with the organisation in which they operate the instance. */
export interface Operator {
  userId: string
  organizationId: string
}

export interface MissedBackup {
  policyId: string
  organizationId: string
  projectId: string
  projectName: string
  /** The scheduled time at which no backup started. */
  dueAt: Date
}

export interface MissedBackups {
  /** Backups that should have started by now. */
  missed(now: Date): Promise<MissedBackup[]>
}

export interface WatchedServer {
  id: string
  name: string
  organizationId: string
}

export interface WatchedServers {
  list(): Promise<WatchedServer[]>
  /** Resolves when the server answers; rejects with a readable reason. */
  check(serverId: string, abort: AbortSignal): Promise<void>
}

/** The machine that runs the projects. */
export interface WatchedMachine {
  problems(): Promise<MachineProblem[]>
  operators(): Promise<Operator[]>
}
