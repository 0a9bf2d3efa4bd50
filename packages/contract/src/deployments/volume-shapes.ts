import { type Static, Type } from 'typebox'
import { Id, nullable } from '../shape.ts'

export const StoredVolume = Type.Object({
  id: Id,
  name: Type.String(),
  environment: Type.String({ description: 'The slug of the environment whose data it holds' }),
  sizeBytes: nullable(Type.Integer({ description: 'null where it cannot be measured now' })),
  mountPath: nullable(Type.String({ description: 'The path at which the project mounts it; null: it is not mounted' })),
  restoredFrom: nullable(Type.String({ description: 'The backup run whose data a restore to a copy wrote into it' })),
})
export type StoredVolume = Static<typeof StoredVolume>
