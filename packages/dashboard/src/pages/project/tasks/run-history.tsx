import { type CronJob, type CronRun, contract } from '@berth/contract'
import { useState } from 'react'
import { ActionButton } from '../../../components/action-button.tsx'
import { type Column, DataTable } from '../../../components/data-table.tsx'
import { Loaded } from '../../../components/loaded.tsx'
import { LogViewer } from '../../../components/log-viewer.tsx'
import { MoreButton } from '../../../components/more-button.tsx'
import { Section } from '../../../components/section.tsx'
import { StatusBadge } from '../../../components/status-badge.tsx'
import { TimeAgo } from '../../../components/time-ago.tsx'
import { useRead } from '../../../data/read.ts'
import { useList } from '../../../data/read-list.ts'

/** Runs of a task, with the output of the selected run. */
export function RunHistory({ projectId, task }: { projectId: string; task: CronJob }) {
  const [runId, setRunId] = useState<string>()
  const params = { id: projectId, cronJobId: task.id }
  const runs = useList(contract.tasks.runs, { params, query: { limit: 50 } }, { refetchIntervalMs: 3000 })
  const columns: Column<CronRun>[] = [
    { title: 'Started', isHeading: true, cell: ({ startedAt, createdAt }) => <TimeAgo time={startedAt ?? createdAt} /> },
    { title: 'Status', cell: ({ status, error }) => <StatusBadge status={status} title={error} /> },
    { title: 'Exit code', cell: ({ exitCode }) => exitCode ?? '' },
    { title: 'Trigger', cell: ({ trigger }) => trigger },
    { title: 'Reason', cell: ({ error }) => error ?? '' },
    {
      title: '',
      cell: (run) => (
        <ActionButton size="xs" variant="default" aria-label={`Output of ${run.id}`} onClick={() => setRunId(run.id)}>
          Output
        </ActionButton>
      ),
    },
  ]
  return (
    <>
      <Section title={`Runs of ${task.name}`} isFlush>
        <Loaded query={runs}>
          {(rows) => <DataTable label={`Runs of ${task.name}`} rows={rows} columns={columns} keyOf={(run) => run.id} />}
        </Loaded>
        <MoreButton list={runs} />
      </Section>
      {runId && <RunOutput key={runId} runId={runId} />}
    </>
  )
}

function RunOutput({ runId }: { runId: string }) {
  const query = { params: { id: runId }, query: { limit: 500 } }
  const lines = useRead(contract.tasks.runLogs, query, { refetchIntervalMs: 3000 })
  return (
    <Section title="Output">
      <Loaded query={lines}>
        {(rows) => <LogViewer label="Output of the run" lines={rows} empty="No output." fileName={`${runId}.log`} />}
      </Loaded>
    </Section>
  )
}
