import { Type } from 'typebox'
import { maybe, oneOf, Time } from '../shape.ts'

export const LogLine = Type.Object({
  id: Type.Optional(Type.String()),
  time: Time,
  stream: oneOf('stdout', 'stderr'),
  /** Its slug; null on lines that were kept before it was recorded. */
  environment: maybe,
  /** The service that wrote it; null where the project is one app. */
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
  environment: maybe,
  service: maybe,
  deploymentId: maybe,
})
