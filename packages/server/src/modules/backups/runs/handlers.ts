import { type contract, terminalRun } from '@berth/contract'
import type { Handlers } from '../../../http/handler.ts'
import { streamRow } from '../../../http/row-stream.ts'
import { iso } from '../../../platform/db/columns.ts'
import type { RunRow } from '../../../platform/db/tables/backups.ts'
import { type BackupsDeps, nowOf } from '../deps.ts'
import { cancelRun } from './cancel-run.ts'
import { protectRun } from './protect.ts'
import { findRun, listRuns } from './run-store.ts'
import { type RunWithArtifacts, showOne, showRun, withArtifacts } from './show-run.ts'
import { runTopic, startRun } from './start-run.ts'

type RunRows = 'startRun' | 'listRuns' | 'listAllRuns' | 'getRun' | 'streamRun' | 'protectRun' | 'cancelRun'

export function runHandlers(deps: BackupsDeps): Pick<Handlers<typeof contract.backups>, RunRows> {
  const { db } = deps.database
  const show = (run: RunWithArtifacts) => showRun(run, nowOf(deps))
  const showRow = (row: RunRow) => showOne(db, row, nowOf(deps))
  return {
    startRun: async (_, { backupPolicy, caller, audit }) => {
      audit({ objectKind: 'backupRun', made: 'bkr' })
      const run = await startRun(backupPolicy.id, { trigger: 'manual', createdBy: caller.userId }, deps)
      return { data: { runId: run.id } }
    },
    listRuns: async ({ query }, { project }) => {
      const { rows, nextCursor } = await listRuns(db, { projectId: project.id }, query)
      return { data: (await withArtifacts(db, rows)).map(show), nextCursor }
    },
    listAllRuns: async ({ query }, { caller: { organizationId, projectIds } }) => {
      const { rows, nextCursor } = await listRuns(db, { organizationId, projectIds }, query)
      return { data: (await withArtifacts(db, rows)).map(show), nextCursor }
    },
    getRun: async (_, { backupRun }) => ({ data: await showRow(backupRun) }),
    streamRun: async (_, { backupRun, stream }) => {
      await streamRow(stream, deps.database.signals, {
        topic: runTopic(backupRun.id),
        read: async () => {
          const [run] = await withArtifacts(db, [(await findRun(db, backupRun.id)) ?? (backupRun as RunRow)])
          return run!
        },
        show,
        stateOf: ({ status, statusSince }) => ({ status, at: iso(statusSince) }),
        isTerminal: ({ status }) => terminalRun.has(status),
      })
      return undefined
    },
    cancelRun: async (_, { backupRun }) => ({ data: await showRow(await cancelRun(backupRun, 'The run was cancelled', deps)) }),
    protectRun: async ({ body }, { backupRun }) => ({ data: await showRow(await protectRun(backupRun, body ?? {}, deps)) }),
  }
}
