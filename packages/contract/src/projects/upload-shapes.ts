import { Type } from 'typebox'
import { limits } from '../limits.ts'
import { AnyObject, Id, maybe, nullable, oneOf, Time, text } from '../shape.ts'
import { ProjectType } from './shapes.ts'

/** Content type and size limit of both upload routes. */
export const tarballUpload = { contentType: 'application/gzip', limitBytes: limits.tarballBytes }

/** The header of an upload target that carries the credential for this one upload. */
export const uploadTokenHeader = 'x-berth-upload-token'

export const UploadHints = Type.Object({
  name: Type.Optional(text(100)),
  stack: Type.Optional(text(100)),
  packageManager: Type.Optional(text(40)),
  /** The upload is only for this project; a token that is limited to projects must set it. */
  projectId: Type.Optional(Id),
  /**
   * Size and hash of the tarball, if known: the received file must match. A cloud with an object store then uploads directly to it.
   */
  sizeBytes: Type.Optional(Type.Integer({ minimum: 1 })),
  sha256: Type.Optional(Type.String({ pattern: '^[0-9a-f]{64}$' })),
})
export const UploadSession = Type.Object({
  sessionId: Id,
  expiresAt: Time,
  upload: Type.Object({ url: Type.String(), method: Type.String(), headers: Type.Record(Type.String(), Type.String()) }),
})
/** The result of a complete upload. */
export const StoredUpload = Type.Object({ sessionId: Id, sizeBytes: Type.Integer(), files: Type.Integer() })

export const Detection = Type.Object({
  name: maybe,
  framework: maybe,
  language: maybe,
  packageManager: maybe,
  installCommand: maybe,
  buildCommand: maybe,
  startCommand: maybe,
  outputDirectory: maybe,
  port: nullable(Type.Integer()),
  type: ProjectType,
  services: Type.Array(AnyObject),
  apps: Type.Array(AnyObject),
  /** The folder of the only app, if the root is not an app itself. */
  rootDirectory: Type.Optional(Type.String()),
  healthPath: Type.Optional(Type.String()),
  exampleVariables: Type.Optional(
    Type.Object(
      {
        file: Type.String(),
        variables: Type.Array(Type.Object({ key: Type.String(), value: Type.String() }), {
          description: 'The variables with their example values',
        }),
      },
      { description: 'The variables that a template such as `.env.example` names, with their example values' },
    ),
  ),
  runtimeVersion: AnyObject,
  evidence: Type.Array(Type.Object({ file: Type.String(), says: Type.String() })),
  warnings: Type.Array(Type.String()),
  /** The scanned source: with it, the response is a complete body for `ensure`. */
  gitProvider: Type.Optional(oneOf('upload', 'local')),
  uploadSessionId: Type.Optional(Id),
  localPath: Type.Optional(Type.String()),
})
