import { endOperation, lockProject, type ProjectPart } from '../projects/index.ts'
import { removeFiles } from './bundle/bundle-files.ts'
import type { TransfersDeps } from './deps.ts'
import { changeSideState } from './rows/change-side-state.ts'
import { openSidesOfProject } from './rows/side-store.ts'

/** A running transfer blocks the deletion of its project; a forced deletion cancels the transfer. */
export const transfersPart = (deps: TransfersDeps): ProjectPart => ({
  describe: 'transfers',
  previewDeletion: async () => [],
  async remove({ id }) {
    for (const row of await openSidesOfProject(deps.database.db, id)) {
      if (row.side !== 'departure') continue
      await deps.database.transaction(async (transaction) => {
        await lockProject(transaction, row.projectId)
        await changeSideState(row, 'aborted', transaction, deps, { secrets: null, files: '[]' })
        await endOperation(row.id, transaction)
      })
      await removeFiles(row.id, deps)
    }
  },
})
