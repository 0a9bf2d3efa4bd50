import { type Static, Type } from 'typebox'
import { Id, nullable } from '../shape.ts'

const Bytes = Type.Integer({ minimum: 0 })

/** Disk usage of builds on this machine, or of the engine of a server. */
export const StoragePlace = Type.Object({
  serverId: nullable(Id),
  /** Why the disk usage could not be measured; null: it was measured. */
  error: nullable(Type.String()),
  artifactsBytes: Bytes,
  cacheBytes: Bytes,
  cacheMaxBytes: nullable(Bytes),
  disk: nullable(Type.Object({ totalBytes: Bytes, freeBytes: Bytes })),
  projects: Type.Array(Type.Object({ projectId: Id, name: nullable(Type.String()), artifactsBytes: Bytes, cacheBytes: Bytes })),
})
export type StoragePlace = Static<typeof StoragePlace>

export const Storage = Type.Object({ places: Type.Array(StoragePlace) })
export type Storage = Static<typeof Storage>

export const StorageCleanUp = Type.Object({ freedBytes: Bytes, places: Type.Array(StoragePlace) })
export type StorageCleanUp = Static<typeof StorageCleanUp>
