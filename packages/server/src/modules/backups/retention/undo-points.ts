import { terminalRestore } from '@berth/contract'
import type { RestoreRow, RunRow } from '../../../platform/db/tables/backups.ts'

export type RestoreWithSafetyRun = Pick<RestoreRow, 'preRestoreRunId' | 'status' | 'dataState' | 'finishedAt'>

export interface SortedSafetyRuns<Run> {
  /** Runs that put back the data that a restore or a deployment replaced. */
  undoPoints: Run[]
  /** Runs of restores that ended without a change: the project has their data. */
  unneeded: Run[]
  /** Ids that are never pruned: the newest undo point of a restore, and the run of a restore that is under way. */
  needed: ReadonlySet<string>
}

/** `runs` and `restores` are newest first. The run of a restore under way is in neither list, so it does not count. */
export function sortSafetyRuns<Run extends Pick<RunRow, 'id'>>(
  runs: readonly Run[],
  restores: readonly RestoreWithSafetyRun[],
): SortedSafetyRuns<Run> {
  const byRun = new Map(restores.map((restore) => [restore.preRestoreRunId, restore]))
  const stateOf = ({ id }: Run) => {
    const restore = byRun.get(id)
    return restore ? runState(restore) : 'undo point'
  }
  const newest = restores.find((restore) => runState(restore) === 'undo point')?.preRestoreRunId
  const unfinished = restores.filter((restore) => runState(restore) === 'under way').map((restore) => restore.preRestoreRunId)
  return {
    undoPoints: runs.filter((run) => stateOf(run) === 'undo point'),
    unneeded: runs.filter((run) => stateOf(run) === 'unneeded'),
    needed: new Set([newest, ...unfinished].filter((id) => typeof id === 'string')),
  }
}

function runState({ status, dataState, finishedAt }: RestoreWithSafetyRun): 'under way' | 'undo point' | 'unneeded' {
  // A cancelled restore puts the previous data back before it is finished.
  if (!terminalRestore.has(status) || finishedAt === null) return 'under way'
  return dataState === 'restored' || dataState === 'partly_written' ? 'undo point' : 'unneeded'
}
