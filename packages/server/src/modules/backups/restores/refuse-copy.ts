import type { Db } from '../../../platform/db/schema.ts'
import type { RestoreRow } from '../../../platform/db/tables/backups.ts'
import { fail } from '../../../platform/failure.ts'
import { findAnyProject } from '../../projects/index.ts'

/** Refuses a copy of a deleted project: without a project no route lists or deletes the copy. */
export async function refuseCopyOfDeleted(
  db: Db,
  { projectId, target }: Pick<RestoreRow, 'projectId' | 'target'>,
): Promise<void> {
  if (target === 'copy' && !(await findAnyProject(db, projectId)))
    fail('not_restorable', {
      message:
        'The project was deleted, so a copy would not belong to a project. Restore it in place first: this brings the project back.',
    })
}
