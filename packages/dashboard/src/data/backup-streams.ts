import { type BackupRun, contract, type Progress } from '@berth/contract'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { isUnderWay } from '../rules/backup-actions.ts'
import { useRead } from './read.ts'
import { refresh } from './refresh.ts'
import { useStream } from './stream.ts'

/** A run as it proceeds; one that is over is as it was read. */
export function useLiveRun(read: BackupRun) {
  const [live, setLive] = useState<BackupRun>()
  const [progress, setProgress] = useState<Progress>()
  const queries = useQueryClient()
  const run = live && isUnderWay(read) ? live : read
  useStream(
    contract.backups.streamRun,
    { params: { runId: read.id } },
    {
      isWanted: isUnderWay(read),
      endsWith: 'complete',
      onEvent({ event, data }) {
        if (event === 'progress') return setProgress(data)
        if (event === 'transition') return setLive((now) => now && { ...now, status: data.status })
        setLive(data)
        if (event === 'complete') void refresh(queries, contract.backups.listRuns, contract.backups.listPolicies)
      },
    },
  )
  return { run, progress }
}

/** A restore as it is checked and applied: the stream tells of both, and the row is read again with each of their steps. */
export function useLiveRestore(restoreId: string | undefined) {
  const [progress, setProgress] = useState<Progress>()
  const queries = useQueryClient()
  const isWanted = restoreId !== undefined
  const params = { restoreId: restoreId ?? 'none' }
  const read = useRead(contract.backups.getRestore, { params }, { isWanted })
  useStream(
    contract.backups.streamRestore,
    { params },
    {
      isWanted,
      endsWith: 'complete',
      onEvent({ event, data }) {
        if (event === 'progress') return setProgress(data)
        setProgress(undefined)
        void refresh(queries, contract.backups.getRestore)
        if (event === 'complete') void refresh(queries, contract.backups.listRuns)
      },
    },
  )
  return { restore: read.data, progress }
}
