import { type Static, Type } from 'typebox'
import { filledText, Id, nullable, oneOf, Port, secret, Time, text } from '../shape.ts'

/** `hostKey`: the fingerprint pinned at the first contact. Keys and passwords are write-only. */
export const Server = Type.Object({
  id: Id,
  name: Type.String(),
  host: Type.String(),
  port: Type.Integer(),
  user: Type.String(),
  authentication: oneOf('privateKey', 'password', 'none'),
  dockerSocket: Type.String(),
  hostKey: nullable(Type.String()),
  status: oneOf('unknown', 'reachable', 'unreachable'),
  statusReason: nullable(Type.String()),
  checkedAt: nullable(Time),
  createdAt: Time,
  updatedAt: Time,
})
export type Server = Static<typeof Server>

/** A host name or an address. It cannot be taken for an option of ssh. */
const Host = Type.String({ minLength: 1, maxLength: 253, pattern: '^[A-Za-z0-9:\\[][A-Za-z0-9.:_%\\[\\]-]*$' })
const User = Type.String({ minLength: 1, maxLength: 64, pattern: '^[A-Za-z_][A-Za-z0-9_.-]*\\$?$' })
const Socket = Type.String({ minLength: 2, maxLength: 300, pattern: '^/[^\\u0000-\\u001f]*$' })

const login = {
  port: Type.Optional(Port),
  user: Type.Optional(User),
  privateKey: Type.Optional(secret(nullable(text(20_000, 1)))),
  password: Type.Optional(secret(nullable(text(1000, 1)))),
  dockerSocket: Type.Optional(Socket),
}

export const ServerBody = Type.Object({ name: filledText(100), host: Host, ...login })
export type ServerBody = Static<typeof ServerBody>

/** `hostKey: null` forgets the pinned key, so that the next contact pins the new one. */
export const ServerChanges = Type.Object({
  name: Type.Optional(filledText(100)),
  host: Type.Optional(Host),
  ...login,
  hostKey: Type.Optional(Type.Null()),
})
export type ServerChanges = Static<typeof ServerChanges>

export const ServerCheck = Type.Object({
  reachable: Type.Boolean(),
  hostKey: Type.String(),
  docker: nullable(Type.Object({ version: Type.String() })),
  latencyMs: Type.Integer(),
  checkedAt: Time,
})
export type ServerCheck = Static<typeof ServerCheck>
