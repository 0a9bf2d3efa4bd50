import { ProjectBundle } from '@berth/contract'
import { type Static, Type } from 'typebox'
import { ProjectHistory } from '../project-history.ts'

const Sha = Type.String({ pattern: '^[0-9a-f]{64}$' })
const Bytes = Type.Integer({ minimum: 0, maximum: 2 ** 50 })

const Part = Type.Object({
  name: Type.String({ pattern: '^[a-z0-9][a-z0-9_.-]{0,120}$' }),
  content: Sha,
  plainBytes: Bytes,
  sizeBytes: Bytes,
  sha256: Sha,
  reused: Type.Boolean(),
})

const Index = Type.Object({
  compression: Type.Union([Type.Literal('zstd'), Type.Literal('gzip')]),
  parts: Type.Array(Part),
  plainBytes: Bytes,
  sizeBytes: Bytes,
  reusedBytes: Bytes,
  sha256: Sha,
})

/** Content of a bundle. It is encrypted, because it contains the project's secrets in plain text. */
export const BundleBody = Type.Object({
  project: ProjectBundle,
  contentKey: Type.String({ pattern: '^[A-Za-z0-9+/]{43}=$' }),
  /** The project's files as a gzip-compressed tar. */
  source: Type.Union([Index, Type.Null()]),
  volumes: Type.Array(Type.Object({ name: Type.String({ pattern: '^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}$' }), index: Index }), {
    maxItems: 200,
  }),
  /** Absent: the bundle is from a version of Berth that did not export history. */
  history: Type.Optional(ProjectHistory),
})
export type BundleBody = Static<typeof BundleBody>

/** The parts of all archives that a body names. */
export const partsOf = ({ source, volumes }: Pick<BundleBody, 'source' | 'volumes'>) =>
  [...(source ? [source] : []), ...volumes.map(({ index }) => index)].flatMap(({ parts }) => parts)
