import type { Db } from '../../../platform/db/schema.ts'
import type { RestoreRow } from '../../../platform/db/tables/backups.ts'
import { fail } from '../../../platform/failure.ts'
import { findAnyProject } from '../../projects/index.ts'

/** A copy belongs to a project: without one no route lists or deletes it. */
export async function refuseCopyOfDeleted(
  db: Db,
  { projectId, target }: Pick<RestoreRow, 'projectId' | 'target'>,
): Promise<void> {
  if (target === 'copy' && !(await findAnyProject(db, projectId)))
    fail('not_restorable', {
      words:
        'The project was deleted, so that a copy would belong to no project. Restore it in place first, which brings it back.',
    })
}
