import { type Static, Type } from 'typebox'
import { describeFields } from '../describe.ts'
import { byKind, Hostname, Id, maybe, nullable, oneOf, Time } from '../shape.ts'

export const RuleKind = oneOf('rate-limit', 'ban', 'allow-deny')

const Addresses = Type.Array(Type.String(), { minItems: 1, maxItems: 10_000 })
const RateLimitConfig = Type.Object({
  requests: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
  windowSeconds: Type.Integer({ minimum: 1, maximum: 86_400 }),
  burst: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
  status: Type.Optional(Type.Integer({ minimum: 400, maximum: 599 })),
})
describeFields(RateLimitConfig, {
  requests: 'How many requests a client address may make in one window',
  windowSeconds: 'Length of the window',
  burst: 'Unused requests of earlier windows that a client may use at once',
  status: 'Status of a refused request; 429 by default',
})
const BanConfig = Type.Object({
  ips: Type.Optional(Addresses),
  userAgents: Type.Optional(Type.Array(Type.String({ maxLength: 500 }), { minItems: 1, maxItems: 1_000 })),
})
describeFields(BanConfig, {
  ips: 'Addresses and CIDR ranges that are refused with 403',
  userAgents: 'Requests whose User-Agent contains one of these texts are refused with 403',
})
const AllowDenyConfig = Type.Object({
  allow: Type.Optional(Addresses),
  deny: Type.Optional(Addresses),
  methods: Type.Optional(Type.Array(Type.String({ maxLength: 20 }), { minItems: 1, maxItems: 50 })),
})
describeFields(AllowDenyConfig, {
  allow: 'Only clients in these addresses and CIDR ranges pass',
  deny: 'Clients in these addresses and CIDR ranges are refused with 403',
  methods: 'Only requests with one of these HTTP methods pass',
})
/** Validated by the module that owns rules. */
const RuleConfig = byKind({ 'rate-limit': RateLimitConfig, ban: BanConfig, 'allow-deny': AllowDenyConfig })

const ruleFields = {
  enabled: Type.Optional(Type.Boolean()),
  pathPrefix: Type.Optional(nullable(Type.String({ maxLength: 500, pattern: '^/' }))),
  hostname: Type.Optional(nullable(Hostname)),
  dryRun: Type.Optional(Type.Boolean()),
  expiresAt: Type.Optional(nullable(Time)),
}
export const CreateRule = Type.Object({ kind: RuleKind, ...ruleFields, config: RuleConfig })
export type CreateRule = Static<typeof CreateRule>
export const UpdateRule = Type.Object({ kind: Type.Optional(RuleKind), ...ruleFields, config: Type.Optional(RuleConfig) })
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
  config: RuleConfig,
  hits: Type.Integer(),
  createdAt: Time,
  updatedAt: Time,
})
export type RouteRule = Static<typeof RouteRule>
