import { findBySubject, lockProject, startIfReady } from '../projects/index.ts'
import type { BackupsDeps } from './deps.ts'

/** False: the run or restore has to wait for another operation of its project, whose end enqueues it again. */
export async function mayStart(subjectId: string, deps: BackupsDeps): Promise<boolean> {
  const operation = await findBySubject(deps.database.db, subjectId)
  if (operation?.phase !== 'waiting') return true
  return deps.database.transaction(async (transaction) => {
    await lockProject(transaction, operation.projectId)
    return startIfReady(subjectId, transaction, deps)
  })
}
