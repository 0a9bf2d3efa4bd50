import { type Static, Type } from 'typebox'
import { nullable, secret, Time, text } from '../shape.ts'

/** Everything but `linked` is null while there is no link; the token is write-only. */
export const CloudLink = Type.Object({
  linked: Type.Boolean(),
  url: nullable(Type.String()),
  reachable: nullable(Type.Boolean()),
  organizationId: nullable(Type.String()),
  linkedAt: nullable(Time),
  /** When the token created in the cloud expires; null: never, or there is no link. */
  tokenExpiresAt: nullable(Time),
})
export type CloudLink = Static<typeof CloudLink>

export const CloudLinkBody = Type.Object({
  url: Type.String({ maxLength: 500, pattern: '^https?://[^\\s/?#]' }),
  token: secret(text(200, 1)),
})
export type CloudLinkBody = Static<typeof CloudLinkBody>
