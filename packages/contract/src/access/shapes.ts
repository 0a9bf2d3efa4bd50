import { type Static, Type } from 'typebox'
import { levels, permissions, roles } from '../permissions.ts'
import { filledText, Id, nullable, oneOf, secret, Time, text } from '../shape.ts'

export const Email = Type.String({ format: 'email', maxLength: 254 })
/** The minimum resists guessing; the maximum keeps the cost of hashing bounded. */
export const Password = Type.String({ minLength: 8, maxLength: 200 })
export const RoleName = oneOf(...roles)
export const LevelName = oneOf(...levels)
export const PermissionTag = oneOf(...permissions)

export const User = Type.Object({ id: Id, email: Type.String(), name: nullable(Type.String()), createdAt: Time })
export type User = Static<typeof User>

export const Organization = Type.Object({
  id: Id,
  name: Type.String(),
  slug: Type.String(),
  role: nullable(RoleName),
  memberRepositories: nullable(Type.Array(Type.String())),
  /** An older instance, such as a cloud, does not send this field. */
  requireTwoFactor: Type.Optional(Type.Boolean()),
  createdAt: Time,
})
export type Organization = Static<typeof Organization>

const Quota = Type.Object({ limit: nullable(Type.Number()), used: Type.Number() })
/** Limits of an organisation on this instance, and what it uses; a null limit is unlimited. Builds above the limit wait. */
export const Quotas = Type.Object({ projects: Quota, cpuCores: Quota, memoryMb: Quota, builds: Quota })
export type Quotas = Static<typeof Quotas>
export type QuotaName = keyof Quotas

/** A limit that is left out is unchanged; null resets it to the instance's default. */
export const QuotaLimitsBody = Type.Object({
  projects: Type.Optional(nullable(Type.Integer({ minimum: 0, maximum: 1_000_000 }))),
  cpuCores: Type.Optional(nullable(Type.Number({ minimum: 0, maximum: 1_000_000 }))),
  memoryMb: Type.Optional(nullable(Type.Integer({ minimum: 0, maximum: 1_000_000_000 }))),
  builds: Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: 1000 }))),
})
export type QuotaLimitsBody = Static<typeof QuotaLimitsBody>

/** The record of one organisation; `quotas` is null if it has no limits. */
export const OrganizationRecord = Type.Object({ ...Organization.properties, quotas: nullable(Quotas) })
export type OrganizationRecord = Static<typeof OrganizationRecord>

export const Session = Type.Object({
  user: User,
  organization: Organization,
  role: RoleName,
  /** An older instance, such as a cloud, does not send this field. */
  operator: Type.Optional(Type.Boolean({ description: 'Whether the caller is an operator of the instance' })),
  permissions: Type.Array(Type.String()),
  /** Sent only while it is true. */
  needsSecondFactor: Type.Optional(
    Type.Boolean({
      description: 'The organisation requires two-factor authentication and the caller has none: only its set-up is open',
    }),
  ),
  via: oneOf('session', 'token'),
  /** The token used for the request; null for a session. */
  tokenId: nullable(Id),
  expiresAt: nullable(Time),
})
export type Session = Static<typeof Session>

/** A sign-in of the caller: a browser, or another client with a session cookie. */
export const SessionRecord = Type.Object({
  id: Id,
  /** The session of this request. */
  current: Type.Boolean({ description: 'Whether this request uses the session' }),
  ip: nullable(Type.String({ description: 'The address that signed in; null: not known' })),
  userAgent: nullable(Type.String({ description: 'The program that signed in, as it named itself; null: not known' })),
  createdAt: Time,
  lastUsedAt: nullable(Time),
  expiresAt: Time,
})
export type SessionRecord = Static<typeof SessionRecord>

/** A code of the authenticator app, or a recovery code. */
export const SecondFactorCode = secret(text(64, 1))

export const TotpStatus = Type.Object({
  enabled: Type.Boolean({ description: 'Whether signing in needs a code' }),
  enabledAt: nullable(Time),
  recoveryCodesLeft: Type.Integer({ description: 'How many recovery codes are unused' }),
})
export type TotpStatus = Static<typeof TotpStatus>

/** An invitation to sign up with a new organisation; the code is shown once, and sent by email if the instance can. */
export const SignUpInvitation = Type.Object({ email: Type.String(), code: Type.String(), url: Type.String(), expiresAt: Time })
export type SignUpInvitation = Static<typeof SignUpInvitation>

export const Token = Type.Object({
  id: Id,
  name: Type.String(),
  scopes: nullable(Type.Array(Type.String())),
  projectIds: nullable(Type.Array(Type.String())),
  lastFour: Type.String(),
  expiresAt: nullable(Time),
  lastUsedAt: nullable(Time),
  createdAt: Time,
})
export type Token = Static<typeof Token>
/** Only the response that creates a token contains its value. */
export const NewToken = Type.Object({ ...Token.properties, token: Type.String() })

export const TokenBody = Type.Object({
  name: filledText(100),
  scopes: Type.Optional(nullable(Type.Array(PermissionTag, { minItems: 1, uniqueItems: true }))),
  projectIds: Type.Optional(nullable(Type.Array(Id, { minItems: 1, maxItems: 500, uniqueItems: true }))),
  expiresInDays: Type.Optional(Type.Integer({ minimum: 1, maximum: 365 })),
})

export const Member = Type.Object({
  userId: Id,
  email: Type.String(),
  name: nullable(Type.String()),
  role: RoleName,
  twoFactor: Type.Optional(
    Type.Boolean({ description: 'Whether two-factor authentication is on; only for callers with member:admin' }),
  ),
  joinedAt: Time,
})
export type Member = Static<typeof Member>

export const Invitation = Type.Object({
  id: Id,
  email: Type.String(),
  role: RoleName,
  invitedBy: nullable(Id),
  expiresAt: Time,
  createdAt: Time,
})
export type Invitation = Static<typeof Invitation>
/**
 * The code is shown once, to the inviting user; only its hash is stored. Null on a cloud with a mail server, where the code is sent
 * only by email.
 */
export const NewInvitation = Type.Object({
  ...Invitation.properties,
  code: nullable(Type.String()),
  url: nullable(Type.String()),
})

export const Grant = Type.Object({ userId: Id, email: Type.String(), level: LevelName, updatedAt: Time })
export type Grant = Static<typeof Grant>

export const AuditEntry = Type.Object({
  id: Id,
  at: Time,
  action: Type.String(),
  userId: nullable(Id),
  userEmail: nullable(Type.String()),
  tokenId: nullable(Id),
  ip: nullable(Type.String()),
  objectKind: nullable(Type.String()),
  objectId: nullable(Type.String()),
  changes: Type.Record(Type.String(), Type.Unknown()),
  requestId: Type.String(),
  previousHash: Type.String(),
  hash: Type.String(),
})
export type AuditEntry = Static<typeof AuditEntry>
