import type { GitHostProvider, GitHostSource } from '@berth/contract'
import type { Selectable } from 'kysely'
import type { JsonText, Millis } from '../columns.ts'

/** One way of an organisation to a git host: an installed app, an account, or the machine's own login. */
export interface GitConnectionsTable {
  id: string
  organizationId: string
  provider: GitHostProvider
  source: GitHostSource
  /** The installation's id at the host; '' for the others, of which an organisation has one each. */
  externalId: string
  accountId: string
  accountLogin: string
  accountType: 'user' | 'organization'
  avatarUrl: string | null
  /** Of an account only, and always sealed: its tokens. An app's are made when needed, the machine's login is read when needed. */
  credential: string | null
  credentialExpiresAt: Millis | null
  /** Until then one control plane alone exchanges the refresh token, which is good once. */
  refreshingUntil: Millis | null
  /** Why the host takes it no longer; null while it does. */
  trouble: string | null
  createdBy: string | null
  createdAt: Millis
  updatedAt: Millis
}

/** A state that a browser has come back with, by its hash: it is taken once. Forgotten when it would have expired. */
export interface GitOauthStatesTable {
  stateHash: string
  expiresAt: Millis
}

/** A person who types a code at the git host. */
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

/** A hook that Berth has put on a repository, with the secret that its deliveries are signed with. */
export interface GitWebhooksTable {
  id: string
  organizationId: string
  provider: GitHostProvider
  /** `owner/repo` in lower case: hosts compare without case. */
  repository: string
  hookId: number
  url: string
  events: JsonText<string[]>
  secret: string
  lastDeliveryAt: Millis | null
  createdAt: Millis
  updatedAt: Millis
}

export interface GitHostTables {
  gitConnections: GitConnectionsTable
  gitOauthStates: GitOauthStatesTable
  gitDeviceLogins: GitDeviceLoginsTable
  gitWebhooks: GitWebhooksTable
}

export type GitConnectionRow = Selectable<GitConnectionsTable>
export type GitDeviceLoginRow = Selectable<GitDeviceLoginsTable>
export type GitWebhookRow = Selectable<GitWebhooksTable>
