import { endOperation, lockProject, type ProjectPart } from '../projects/index.ts'
import { removeFiles } from './bundle/bundle-files.ts'
import type { TransfersDeps } from './deps.ts'
import { moveEnd } from './rows/change-state.ts'
import { openOfProject } from './rows/side-store.ts'

/** A move under way blocks the deletion of its project; a forced deletion cancels the move. */
export const transfersPart = (deps: TransfersDeps): ProjectPart => ({
  describe: 'transfers',
  previewDeletion: async () => [],
  async remove({ id }) {
    for (const end of await openOfProject(deps.database.db, id)) {
      if (end.side !== 'departure') continue
      await deps.database.transaction(async (bound) => {
        await lockProject(bound, end.projectId)
        await moveEnd(end, 'aborted', bound, deps, { secrets: null, files: '[]' })
        await endOperation(end.id, bound)
      })
      await removeFiles(end.id, deps)
    }
  },
})
