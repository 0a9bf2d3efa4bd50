import type { GitHostProvider, GitHostSource } from '@berth/contract'
import type { Selectable } from 'kysely'
import type { Flag, JsonText, Millis } from '../columns.ts'

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

/** A browser on its way to the git host and back. Only the hash of its state is here. */
export interface GitOauthStatesTable {
  stateHash: string
  organizationId: string
  userId: string
  provider: GitHostProvider
  /** What is being connected. */
  source: 'app' | 'oauth'
  /** The session that started it; null: a token did. */
  sessionId: string | null
  /** Started by a program on this very machine, with no proxy between. */
  fromThisMachine: Flag
  /** Known once the browser came back from the installation and went on to sign in. */
  installationId: string | null
  /** The code, sealed, while the person is asked whether they meant it; with the hash of what their browser was given. */
  code: string | null
  browserHash: string | null
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
export type GitOauthStateRow = Selectable<GitOauthStatesTable>
export type GitDeviceLoginRow = Selectable<GitDeviceLoginsTable>
export type GitWebhookRow = Selectable<GitWebhooksTable>
