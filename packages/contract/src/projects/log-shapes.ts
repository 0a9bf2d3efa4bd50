import { Type } from 'typebox'
import { maybe, oneOf, Time } from '../shape.ts'

export const LogLine = Type.Object({
  id: Type.Optional(Type.String()),
  time: Time,
  stream: oneOf('stdout', 'stderr'),
  /** Slug of the environment; null on lines stored before this field existed. */
  environment: maybe,
  /** The service that wrote it; null if the project is a single app. */
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
