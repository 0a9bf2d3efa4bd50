import { Type } from 'typebox'
import type { ArchiveIndex } from '../../../drivers/archive/archive.ts'
import { jsonColumn } from '../../../platform/db/json-columns/json-column.ts'

/** The index of a stored artifact. Only the parts are checked: a large volume has many thousands. */
export const artifactIndex = jsonColumn(
  'backupArtifacts',
  'index',
  Type.Unsafe<ArchiveIndex>(Type.Object({ parts: Type.Array(Type.Object({ name: Type.String(), content: Type.String() })) })),
)
