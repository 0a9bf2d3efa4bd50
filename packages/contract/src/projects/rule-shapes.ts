import { type Static, Type } from 'typebox'
import { AnyObject, Hostname, Id, maybe, nullable, oneOf, Time } from '../shape.ts'

export const RuleKind = oneOf('rate-limit', 'ban', 'allow-deny')
const ruleFields = {
  enabled: Type.Optional(Type.Boolean()),
  pathPrefix: Type.Optional(nullable(Type.String({ maxLength: 500, pattern: '^/' }))),
  hostname: Type.Optional(nullable(Hostname)),
  dryRun: Type.Optional(Type.Boolean()),
  expiresAt: Type.Optional(nullable(Time)),
}
export const CreateRule = Type.Object({ kind: RuleKind, ...ruleFields, config: AnyObject })
export type CreateRule = Static<typeof CreateRule>
export const UpdateRule = Type.Object({ kind: Type.Optional(RuleKind), ...ruleFields, config: Type.Optional(AnyObject) })
export type UpdateRule = Static<typeof UpdateRule>
export const RouteRule = Type.Object({
  id: Id,
  projectId: Id,
  kind: RuleKind,
  enabled: Type.Boolean(),
  pathPrefix: maybe,
  hostname: maybe,
  dryRun: Type.Boolean(),
  expiresAt: nullable(Time),
  config: AnyObject,
  hits: Type.Integer(),
  createdAt: Time,
  updatedAt: Time,
})
export type RouteRule = Static<typeof RouteRule>
