import { type BackupRun, contract, type Progress } from '@berth/contract'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { isRunning } from '../rules/backup-actions.ts'
import { useRead } from './read.ts'
import { refresh } from './refresh.ts'
import { useStream } from './stream.ts'

/** A run, updated live until it ends. */
export function useLiveRun(read: BackupRun) {
  const [live, setLive] = useState<BackupRun>()
  const [progress, setProgress] = useState<Progress>()
  const queries = useQueryClient()
  const run = live && isRunning(read) ? live : read
  useStream(
    contract.backups.streamRun,
    { params: { runId: read.id } },
    {
      isEnabled: isRunning(read),
      endsWith: 'complete',
      onEvent({ event, data }) {
        if (event === 'progress') return setProgress(data)
        if (event === 'transition') return setLive((previous) => previous && { ...previous, status: data.status })
        setLive(data)
        if (event === 'complete') void refresh(queries, contract.backups.listRuns, contract.backups.listPolicies)
      },
    },
  )
  return { run, progress }
}

/** A restore, updated live while it is verified and applied. Each status change reads the record again. */
export function useLiveRestore(restoreId: string | undefined) {
  const [progress, setProgress] = useState<Progress>()
  const queries = useQueryClient()
  const isEnabled = restoreId !== undefined
  const params = { restoreId: restoreId ?? 'none' }
  const read = useRead(contract.backups.getRestore, { params }, { isEnabled })
  useStream(
    contract.backups.streamRestore,
    { params },
    {
      isEnabled,
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
