import { Type } from 'typebox'
import { maybe, oneOf, Time } from '../shape.ts'

export const LogLine = Type.Object({
  id: Type.Optional(Type.String()),
  time: Time,
  stream: oneOf('stdout', 'stderr'),
  service: maybe,
  message: Type.String(),
})
export const RequestLine = Type.Object({
  id: Type.String(),
  time: Time,
  ip: Type.String(),
  method: Type.String(),
  host: Type.String(),
  path: Type.String(),
  status: Type.Integer(),
  durationMs: Type.Number(),
  bytesIn: Type.Integer(),
  bytesOut: Type.Integer(),
  userAgent: maybe,
  deploymentId: maybe,
})
