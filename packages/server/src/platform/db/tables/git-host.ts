import type { GitHostProvider, GitHostSource } from '@berth/contract'
import type { Selectable } from 'kysely'
import type { JsonText, Millis } from '../columns.ts'

/** An organisation's access to a git host: an installed app, an account, or the machine's own login. */
export interface GitConnectionsTable {
  id: string
  organizationId: string
  provider: GitHostProvider
  source: GitHostSource
  /** The installation's id at the git host; '' for the other sources, of which an organisation has one each. */
  externalId: string
  accountId: string
  accountLogin: string
  accountType: 'user' | 'organization'
  avatarUrl: string | null
  /**
   * The sealed tokens of an account. Null for an app, whose tokens are created on demand, and for the machine's login, which is
   * read on demand.
   */
  credential: string | null
  credentialExpiresAt: Millis | null
  /** Lease of the control plane that exchanges the refresh token, which can be used only once. */
  refreshingUntil: Millis | null
  /** Web address of the host that issued the credential: it is sent to no other host. Null: stored before this was recorded. */
  hostUrl: string | null
  /** Why the git host rejects the credential; null while it accepts it. */
  trouble: string | null
  createdBy: string | null
  createdAt: Millis
  updatedAt: Millis
}

/**
 * Hash of an OAuth state that a browser has returned: it is accepted once. The row is deleted when the state would have expired.
 */
export interface GitOauthStatesTable {
  stateHash: string
  expiresAt: Millis
}

/** A device login: the user types a code at the git host. */
export interface GitDeviceLoginsTable {
  id: string
  organizationId: string
  userId: string
  provider: GitHostProvider
  deviceCode: string
  userCode: string
  verificationUri: string
  intervalSeconds: number
  status: 'pending' | 'denied' | 'expired' | 'error'
  message: string | null
  nextPollAt: Millis
  expiresAt: Millis
  createdAt: Millis
}

/** A webhook that Berth created on a repository, with the secret that its deliveries are signed with. */
export interface GitWebhooksTable {
  id: string
  organizationId: string
  provider: GitHostProvider
  /** `owner/repo` in lower case: git hosts compare case-insensitively. */
  repository: string
  hookId: number
  url: string
  events: JsonText<string[]>
  secret: string
  lastDeliveryAt: Millis | null
  createdAt: Millis
  updatedAt: Millis
}

/** The application at a git host that operators set up in the dashboard: a GitHub App, or an OAuth application. */
export interface GitApplicationsTable {
  provider: GitHostProvider
  /** Random, new with every change: control planes compare it to notice a change. */
  version: string
  /** Web address of the host; the secrets are sealed for it. */
  url: string
  appId: number | null
  appSlug: string | null
  clientId: string
  /** Sealed JSON: client secret, private key and webhook secret. */
  secrets: string
  createdBy: string | null
  createdAt: Millis
  updatedAt: Millis
}

export interface GitHostTables {
  gitApplications: GitApplicationsTable
  gitConnections: GitConnectionsTable
  gitOauthStates: GitOauthStatesTable
  gitDeviceLogins: GitDeviceLoginsTable
  gitWebhooks: GitWebhooksTable
}

export type GitConnectionRow = Selectable<GitConnectionsTable>
export type GitDeviceLoginRow = Selectable<GitDeviceLoginsTable>
export type GitWebhookRow = Selectable<GitWebhooksTable>
export type GitApplicationRow = Selectable<GitApplicationsTable>
