import type { Db } from '../../../platform/db/schema.ts'
import { fail } from '../../../platform/failure.ts'
import type { BackupsDeps } from '../deps.ts'

/** Refuses a restore of a project that lives on another instance: it would rewrite the hidden copy here. */
export async function refuseMoved(db: Db, projectId: string, { ports }: Pick<BackupsDeps, 'ports'>): Promise<void> {
  if (await ports.wasTransferredAway?.(db, projectId))
    fail('conflict', { message: 'The project was transferred to another instance. Transfer it back, then restore it.' })
}
