import type { Level, Role } from '@berth/contract'
import type { Selectable } from 'kysely'
import type { Flag, JsonText, Millis } from '../columns.ts'

export interface UsersTable {
  id: string
  /** Lower case: addresses compare without case. */
  email: string
  name: string | null
  passwordHash: string
  defaultOrganizationId: string | null
  createdAt: Millis
}

export interface OrganizationsTable {
  id: string
  name: string
  slug: string
  /** null: members see every repository. */
  memberRepositories: JsonText<string[]> | null
  /** Limits by name that an operator gave it instead of the instance's own. */
  quotas: JsonText<Record<string, number>> | null
  createdAt: Millis
}

export interface MembersTable {
  organizationId: string
  userId: string
  role: Role
  joinedAt: Millis
}

export interface InvitationsTable {
  id: string
  organizationId: string
  email: string
  role: Role
  codeHash: string
  invitedBy: string | null
  expiresAt: Millis
  createdAt: Millis
}

export interface SessionsTable {
  id: string
  userId: string
  secretHash: string
  expiresAt: Millis
  createdAt: Millis
}

export interface TokensTable {
  id: string
  userId: string
  organizationId: string
  name: string
  secretHash: string
  lastFour: string
  scopes: JsonText<string[]> | null
  projectIds: JsonText<string[]> | null
  expiresAt: Millis | null
  lastUsedAt: Millis | null
  /** The token that it was made with, and with which it ends. */
  parentId: string | null
  createdAt: Millis
}

export interface GrantsTable {
  projectId: string
  organizationId: string
  userId: string
  level: Level
  updatedAt: Millis
}

/** What a single-use token opens: one path, for the one who minted it. */
export interface StreamTokensTable {
  secretHash: string
  path: string
  userId: string
  organizationId: string
  /** The credential that minted it: it ends with that, and has its limits. */
  tokenId: string | null
  sessionId: string | null
  expiresAt: Millis
  /** The cloud made it, for a stream there. */
  elsewhere: Flag
}

/** A way to an account of one's own on a cloud, bound to an address; the code is made of the row, and stored nowhere. */
export interface SignUpsTable {
  id: string
  /** Lower case. */
  email: string
  /** Hash of who asked: an address, or an IPv6 client's network. Null where an operator invited. */
  client: string | null
  invitedBy: string | null
  createdAt: Millis
  expiresAt: Millis
  usedAt: Millis | null
}

/** The mails of invitations, withdrawn ones too, for as long as they count. */
export interface InvitationMailsTable {
  invitationId: string
  organizationId: string
  email: string
  createdAt: Millis
}

export interface AuditLogTable {
  id: string
  /** '' for what happened outside any organisation. */
  organizationId: string
  sequence: number
  at: Millis
  action: string
  userId: string | null
  userEmail: string | null
  tokenId: string | null
  ip: string | null
  objectKind: string | null
  objectId: string | null
  changes: JsonText
  requestId: string
  previousHash: string
  hash: string
}

/** Facts about the instance itself, such as the hash of the set-up code. */
export interface InstallationTable {
  key: string
  value: string
}

export interface AccessTables {
  users: UsersTable
  organizations: OrganizationsTable
  members: MembersTable
  invitations: InvitationsTable
  sessions: SessionsTable
  tokens: TokensTable
  grants: GrantsTable
  streamTokens: StreamTokensTable
  signUps: SignUpsTable
  invitationMails: InvitationMailsTable
  auditLog: AuditLogTable
  instance: InstallationTable
}

export type UserRow = Selectable<UsersTable>
export type OrganizationRow = Selectable<OrganizationsTable>
export type MemberRow = Selectable<MembersTable>
export type InvitationRow = Selectable<InvitationsTable>
export type TokenRow = Selectable<TokensTable>
export type AuditRow = Selectable<AuditLogTable>
