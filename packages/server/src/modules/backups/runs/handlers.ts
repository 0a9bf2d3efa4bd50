import type { contract } from '@berth/contract'
import type { Handlers } from '../../../http/handler.ts'
import type { BackupsDeps } from '../deps.ts'
import { protectRun } from './protect.ts'
import { listRuns } from './run-store.ts'
import { showOne, showRun, withArtifacts } from './show-run.ts'

type RunRows = 'listRuns' | 'getRun' | 'protectRun'

export function runHandlers(deps: BackupsDeps): Pick<Handlers<typeof contract.backups>, RunRows> {
  const { db } = deps.database
  return {
    listRuns: async ({ query }, { project }) => {
      const { rows, nextCursor } = await listRuns(db, project.id, query)
      return { data: (await withArtifacts(db, rows)).map(showRun), nextCursor }
    },
    getRun: async (_, { backupRun }) => ({ data: await showOne(db, backupRun) }),
    protectRun: async ({ body }, { backupRun }) => ({ data: await showOne(db, await protectRun(backupRun, body ?? {}, deps)) }),
  }
}
