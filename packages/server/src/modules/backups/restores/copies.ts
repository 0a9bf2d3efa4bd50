import type { RestoredVolume } from '@berth/contract'
import { restoreJson } from '../../../platform/db/json-columns/backups.ts'
import type { RestoreRow } from '../../../platform/db/tables/backups.ts'
import type { ManifestArtifact } from '../content/manifest.ts'
import type { BackupsDeps } from '../deps.ts'
import { findRestore, updateRestore } from './restore-store.ts'

/** The name of the volume that a restore to a copy creates for an artifact. */
export const copyName = ({ id }: Pick<RestoreRow, 'id'>, { name }: Pick<ManifestArtifact, 'name'>): string =>
  `${name.replace(/[^A-Za-z0-9_.-]+/g, '-')}-restored-${id.slice(-8)}`

export const copiesOf = (restore: Pick<RestoreRow, 'id' | 'copies'>): RestoredVolume[] => restoreJson.copies(restore) ?? []

/** Called before anything is written to the copy, so that an unfinished copy is never orphaned. */
export async function recordCopy(
  restoreId: string,
  { id, name }: RestoredVolume,
  { database: { db } }: BackupsDeps,
): Promise<void> {
  const restore = await findRestore(db, restoreId)
  const copies = restore ? copiesOf(restore) : []
  if (copies.every((copy) => copy.id !== id))
    await updateRestore(db, restoreId, { copies: JSON.stringify([...copies, { id, name }]) })
}

/** Deletes the copies of a failed restore: they may be incomplete. */
export async function removeCopies(restoreId: string, deps: BackupsDeps): Promise<void> {
  const { db } = deps.database
  const restore = await findRestore(db, restoreId)
  if (!restore || restore.copies === null) return
  for (const { id } of copiesOf(restore)) await deps.data.deleteVolume(restore.projectId, id)
  await updateRestore(db, restoreId, { copies: null })
}
