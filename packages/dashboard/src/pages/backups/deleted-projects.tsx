import { type BackupRun, contract } from '@berth/contract'
import { Suspense, useState } from 'react'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { lazyPart } from '../../components/lazy-part.ts'
import { RowButton } from '../../components/row-button.tsx'
import { Section } from '../../components/section.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { useRead } from '../../data/read.ts'
import { useRefusal } from '../../data/refusal.ts'
import { restoreRefusal } from '../../rules/backup-actions.ts'
import { sizeText } from '../../text/sizes.ts'

const RestoreWizard = lazyPart(() => import('../project/backups/restore-wizard.tsx'), 'RestoreWizard')

/** Backup runs of deleted projects. Restoring a run creates its project again. */
export function DeletedProjects() {
  const [restored, setRestored] = useState<BackupRun>()
  const refusal = useRefusal('project:admin')
  const projects = useRead(contract.projects.home, {})
  const runs = useRead(contract.backups.listAllRuns, { query: { status: 'succeeded', limit: 500 } })
  if (!projects.data || !runs.data) return null
  const known = new Set(projects.data.map(({ id }) => id))
  const rows = runs.data.filter(({ projectId, prunedAt }) => !known.has(projectId) && prunedAt === null)
  if (rows.length === 0) return null
  const columns: Column<BackupRun>[] = [
    { title: 'Project', isHeading: true, cell: ({ projectName }) => projectName },
    { title: 'Run', cell: ({ createdAt }) => <TimeAgo time={createdAt} /> },
    { title: 'Size', alignRight: true, cell: ({ sizeBytes }) => sizeText(sizeBytes) },
    {
      title: '',
      alignRight: true,
      cell: (run) => (
        <RowButton
          refusal={refusal ?? restoreRefusal(run)}
          aria-label={`Restore ${run.projectName}`}
          onClick={() => setRestored(run)}
        >
          Restore…
        </RowButton>
      ),
    },
  ]
  return (
    <Section
      title="Deleted projects"
      description="Restoring a run brings its project back, with its settings, variables and policies."
      isFlush
    >
      <DataTable label="Runs of deleted projects" columns={columns} rows={rows} keyOf={({ id }) => id} />
      <Suspense fallback={null}>
        {restored && (
          <RestoreWizard run={restored} project={{ name: restored.projectName }} onClose={() => setRestored(undefined)} />
        )}
      </Suspense>
    </Section>
  )
}
