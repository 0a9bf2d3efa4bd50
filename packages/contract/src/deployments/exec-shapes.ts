import { type Static, Type } from 'typebox'
import { limits } from '../limits.ts'
import { Id, nullable, oneOf, secret, text } from '../shape.ts'

/** `argv` is a list of arguments, not a command line: no shell interprets it. */
export const ExecBody = Type.Object({
  argv: Type.Array(text(32_768), { minItems: 1, maxItems: 256 }),
  environment: Type.Optional(text(80, 1)),
  service: Type.Optional(text(63, 1)),
  env: Type.Optional(
    secret(
      Type.Record(Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]{0,255}$' }), text(limits.envValueBytes), { maxProperties: 100 }),
    ),
  ),
  input: Type.Optional(
    Type.Boolean({ description: 'Keeps standard input open: the input is sent by a second call. Default: no input' }),
  ),
})
export type ExecBody = Static<typeof ExecBody>

export const execEvents = {
  started: Type.Object({ execId: Id, environment: Type.String(), service: Type.String(), deploymentId: Id }),
  output: Type.Object({
    stream: oneOf('stdout', 'stderr'),
    data: Type.String({ description: 'The bytes as they came, in base64' }),
  }),
  exit: Type.Object({
    exitCode: nullable(Type.Integer()),
    message: nullable(Type.String({ description: 'Why Berth ended the command; null: it ended by itself' })),
  }),
}
export type ExecExit = Static<typeof execEvents.exit>

export const execInput = { contentType: 'application/octet-stream', limitBytes: limits.execInputBytes }
