import { type Static, Type } from 'typebox'
import { GitOwner } from '../git-shapes.ts'
import { nullable, oneOf, secret, Time } from '../shape.ts'
import { GitHostProvider } from './shapes.ts'

/** The application at a git host that this instance signs in with: a GitHub App, or an OAuth application. */
export const GitApplication = Type.Object({
  provider: GitHostProvider,
  origin: oneOf('environment', 'stored', 'none'),
  kind: nullable(oneOf('app', 'oauth')),
  url: Type.String(),
  appId: nullable(Type.Integer()),
  appSlug: nullable(Type.String()),
  appUrl: nullable(Type.String()),
  clientId: nullable(Type.String()),
  hasClientSecret: Type.Boolean(),
  hasPrivateKey: Type.Boolean(),
  hasWebhookSecret: Type.Boolean(),
  callbackUrl: Type.String(),
  isStored: Type.Boolean(),
  connectedOrganizations: Type.Integer(),
  problems: Type.Array(Type.String()),
  updatedAt: nullable(Time),
})
export type GitApplication = Static<typeof GitApplication>

const printable = (maxLength: number) => Type.String({ minLength: 1, maxLength, pattern: '^[\\x21-\\x7e]+$' })

export const GitApplicationBody = Type.Object({
  url: Type.Optional(Type.String({ minLength: 1, maxLength: 300, pattern: '^https?://[^\\s@?#]+$' })),
  clientId: printable(200),
  clientSecret: secret(printable(400)),
})
export type GitApplicationBody = Static<typeof GitApplicationBody>

export const ManifestBody = Type.Object({
  organization: Type.Optional(GitOwner),
  public: Type.Optional(Type.Boolean({ default: false })),
})
export type ManifestBody = Static<typeof ManifestBody>

/** A form that the browser sends to GitHub: POST `manifest` to `url`. */
export const AppManifest = Type.Object({
  url: Type.String(),
  manifest: Type.String(),
  expiresAt: Time,
  problems: Type.Array(Type.String()),
})
export type AppManifest = Static<typeof AppManifest>

export const ConversionBody = Type.Object({
  code: secret(Type.String({ minLength: 1, maxLength: 200, pattern: '^[A-Za-z0-9_-]+$' })),
  state: secret(Type.String({ minLength: 1, maxLength: 2000 })),
})
export type ConversionBody = Static<typeof ConversionBody>

export const ConvertedApp = Type.Object({ application: GitApplication, installUrl: Type.String() })
export type ConvertedApp = Static<typeof ConvertedApp>
