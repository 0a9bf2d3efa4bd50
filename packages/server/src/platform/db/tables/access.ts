import type { Level, Role } from '@berth/contract'
import type { Generated, Selectable } from 'kysely'
import type { Flag, JsonText, Millis } from '../columns.ts'

export interface UsersTable {
  id: string
  /** Lower case: addresses are compared case-insensitively. */
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
  /** Limits by name that an operator set for it in place of the instance's defaults. */
  quotas: JsonText<Record<string, number>> | null
  /** Members without two-factor authentication are refused. */
  requireTwoFactor: Generated<0 | 1>
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
  /** Null: a session of an earlier version that was not used since. */
  lastUsedAt: Millis | null
  /** The client that signed in. */
  ip: string | null
  userAgent: string | null
}

/** The authenticator app of a user. */
export interface TotpFactorsTable {
  userId: string
  /** Sealed; base32. */
  secret: string
  /** Null: set-up has begun, and signing in needs no code yet. */
  confirmedAt: Millis | null
  /** The time step of the last code that was used: only codes of later steps are accepted. */
  lastStep: Millis
  /** Attempts to enter a code since `attemptsSince`; a right code resets them. */
  attempts: number
  attemptsSince: Millis
}

/** Unused recovery codes. */
export interface RecoveryCodesTable {
  userId: string
  codeHash: string
}

/** A WebAuthn credential that signs its user in. */
export interface PasskeysTable {
  id: string
  userId: string
  name: string
  /** Base64url, as the browser names it. */
  credentialId: string
  /** The COSE public key in base64url. */
  publicKey: string
  /** The host name that it was created for: browsers use it for no other one. */
  hostname: string
  /** The last signature counter; 0 for authenticators without one. */
  counter: Millis
  isSynced: Flag
  createdAt: Millis
  lastUsedAt: Millis | null
}

/** Challenges that were used, until they expire: each is accepted once. */
export interface SpentChallengesTable {
  challengeHash: string
  expiresAt: Millis
}

/** Password resets that were requested by mail, also for unknown addresses. The code is derived from the row and stored nowhere. */
export interface PasswordResetsTable {
  id: string
  /** Lower case. */
  email: string
  createdAt: Millis
  expiresAt: Millis
  usedAt: Millis | null
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
  /** The token that created this one; it is revoked together with that token. */
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

/** A single-use token: valid for one path and for the user who created it. */
export interface StreamTokensTable {
  secretHash: string
  path: string
  userId: string
  organizationId: string
  /** The credential that created it: the token has its limits and ends with it. */
  tokenId: string | null
  sessionId: string | null
  expiresAt: Millis
  /** The cloud issued it, for a stream there. */
  elsewhere: Flag
}

/** A sign-up on a cloud, bound to an email address. The code is derived from the row and stored nowhere. */
export interface SignUpsTable {
  id: string
  /** Lower case. */
  email: string
  /** Hash of the requesting client: its address, or an IPv6 client's network. Null when an operator sent the invitation. */
  client: string | null
  invitedBy: string | null
  createdAt: Millis
  expiresAt: Millis
  usedAt: Millis | null
}

/** Invitation emails, also of withdrawn invitations, for as long as they count towards the limit. */
export interface InvitationMailsTable {
  invitationId: string
  organizationId: string
  email: string
  createdAt: Millis
}

export interface AuditLogTable {
  id: string
  /** '' for events outside any organisation. */
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
export interface InstanceFactsTable {
  key: string
  value: string
}

export interface AccessTables {
  users: UsersTable
  organizations: OrganizationsTable
  members: MembersTable
  invitations: InvitationsTable
  sessions: SessionsTable
  totpFactors: TotpFactorsTable
  recoveryCodes: RecoveryCodesTable
  passkeys: PasskeysTable
  spentChallenges: SpentChallengesTable
  passwordResets: PasswordResetsTable
  tokens: TokensTable
  grants: GrantsTable
  streamTokens: StreamTokensTable
  signUps: SignUpsTable
  invitationMails: InvitationMailsTable
  auditLog: AuditLogTable
  instance: InstanceFactsTable
}

export type UserRow = Selectable<UsersTable>
export type OrganizationRow = Selectable<OrganizationsTable>
export type MemberRow = Selectable<MembersTable>
export type InvitationRow = Selectable<InvitationsTable>
export type SessionRow = Selectable<SessionsTable>
export type TotpFactorRow = Selectable<TotpFactorsTable>
export type PasskeyRow = Selectable<PasskeysTable>
export type TokenRow = Selectable<TokensTable>
export type AuditRow = Selectable<AuditLogTable>
