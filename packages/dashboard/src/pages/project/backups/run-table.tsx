import { type BackupRun, contract, type Project } from '@berth/contract'
import { Badge, Group, Text } from '@mantine/core'
import { IconHistory } from '@tabler/icons-react'
import { Suspense, useState } from 'react'
import { type Column, DataTable } from '../../../components/data-table.tsx'
import { EmptyState } from '../../../components/empty-state.tsx'
import { lazyPart } from '../../../components/lazy-part.ts'
import { RowButton } from '../../../components/row-button.tsx'
import { TimeAgo } from '../../../components/time-ago.tsx'
import { useChange } from '../../../data/change.ts'
import { useProjectRefusal } from '../../../data/refusal.ts'
import { isRunning, restoreRefusal, runCancelRefusal, runLabels } from '../../../rules/backup-actions.ts'
import { sizeText } from '../../../text/sizes.ts'
import { statusLabel } from '../../../text/status-text.ts'
import { RunState } from './run-state.tsx'

/** Loaded on demand, since restores are rare. */
const RestoreWizard = lazyPart(() => import('./restore-wizard.tsx'), 'RestoreWizard')

interface Props {
  project: Project
  runs: readonly BackupRun[]
}

export function RunTable({ project, runs }: Props) {
  const [restored, setRestored] = useState<BackupRun>()
  const writeRefusal = useProjectRefusal(project.id, 'write')
  const adminRefusal = useProjectRefusal(project.id, 'admin')
  const refreshes = [contract.backups.listRuns]
  const cancel = useChange(contract.backups.cancelRun, { refreshes, successMessage: 'Cancelled.' })
  const protect = useChange(contract.backups.protectRun, { refreshes })
  if (runs.length === 0)
    return (
      <EmptyState icon={IconHistory} title="No backups">
        Runs and their progress appear here.
      </EmptyState>
    )
  const columns: Column<BackupRun>[] = [
    {
      title: 'Started',
      isHeading: true,
      cell: ({ createdAt, trigger }) => (
        <div>
          <TimeAgo time={createdAt} />
          <Text size="xs" c="dimmed">
            {statusLabel(trigger)}
          </Text>
        </div>
      ),
    },
    { title: 'Status', cell: (run) => <RunState run={run} /> },
    { title: 'Size', alignRight: true, cell: ({ sizeBytes }) => sizeText(sizeBytes) },
    {
      title: 'Notes',
      isWide: true,
      cell: (run) => {
        const labels = runLabels(run)
        return (
          <Group gap={4}>
            {labels.length === 0 && '–'}
            {labels.map((label) => (
              <Badge key={label} size="sm" variant="default">
                {label}
              </Badge>
            ))}
          </Group>
        )
      },
    },
    {
      title: '',
      alignRight: true,
      cell: (run) =>
        isRunning(run) ? (
          <RowButton refusal={writeRefusal ?? runCancelRefusal(run)} onClick={() => cancel.mutate({ params: { runId: run.id } })}>
            Cancel
          </RowButton>
        ) : (
          <Group gap={4} justify="flex-end">
            <RowButton
              refusal={writeRefusal ?? restoreRefusal(run)}
              onClick={() => protect.mutate({ params: { runId: run.id }, body: { protected: !run.protected } })}
            >
              {run.protected ? 'Release' : 'Protect'}
            </RowButton>
            <RowButton refusal={adminRefusal ?? restoreRefusal(run)} onClick={() => setRestored(run)}>
              Restore…
            </RowButton>
          </Group>
        ),
    },
  ]
  return (
    <>
      <DataTable label="Runs" columns={columns} rows={runs} keyOf={({ id }) => id} />
      <Suspense fallback={null}>
        {restored && <RestoreWizard run={restored} project={project} onClose={() => setRestored(undefined)} />}
      </Suspense>
    </>
  )
}
