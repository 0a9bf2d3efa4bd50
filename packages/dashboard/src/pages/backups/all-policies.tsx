import { type BackupPolicy, contract, type Project } from '@berth/contract'
import { Text } from '@mantine/core'
import { useQueries } from '@tanstack/react-query'
import { useState } from 'react'
import { DataTable } from '../../components/data-table.tsx'
import { RouterLink } from '../../components/router-link.tsx'
import { RowButton } from '../../components/row-button.tsx'
import { Section } from '../../components/section.tsx'
import { SkeletonRows } from '../../components/skeleton-rows.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { readOptions, useRead } from '../../data/read.ts'
import { useRefusal } from '../../data/refusal.ts'
import { scheduleText } from '../../rules/cron-text.ts'
import { EditPolicy } from '../project/backups/edit-policy.tsx'

const maxRequests = 100

interface Row {
  project: Project
  policy: BackupPolicy
}

/** Policies of all listed projects; the API lists policies per project. */
export function AllPolicies() {
  const [edited, setEdited] = useState<Row>()
  const refusal = useRefusal('project:write')
  const projects = useRead(contract.projects.home, {})
  const isPartial = (projects.data?.length ?? 0) > maxRequests
  const listedProjects = refusal ? [] : (projects.data ?? []).slice(0, maxRequests)
  const { rows, isPending } = useQueries({
    queries: listedProjects.map(({ id }) => readOptions(contract.backups.listPolicies, { params: { projectId: id }, query: {} })),
    combine: (results) => ({
      rows: results.flatMap(({ data }, at): Row[] =>
        (data?.data ?? []).map((policy) => ({ project: listedProjects[at]!, policy })),
      ),
      isPending: results.some((one) => one.isPending),
    }),
  })
  return (
    <Section
      title="All policies"
      isFlush
      description={isPartial && rows.length > 0 ? `Policies of the newest ${maxRequests} projects.` : undefined}
    >
      {!refusal && (projects.isPending || (isPending && rows.length === 0)) ? (
        <SkeletonRows rows={2} />
      ) : rows.length === 0 ? (
        <Text c="dimmed" size="sm" px={{ base: 'md', sm: 'lg' }} pb="lg">
          {refusal
            ? 'Policies are shown to users who may change projects. Ask an owner or admin of the organisation.'
            : isPartial
              ? `None of the newest ${maxRequests} projects has a policy. Open a project and choose Backups.`
              : 'No backup policies. Open a project and choose Backups.'}
        </Text>
      ) : (
        <DataTable
          label="Policies"
          rows={rows}
          keyOf={({ policy }) => policy.id}
          columns={[
            {
              title: 'Project',
              isHeading: true,
              cell: ({ project }) => (
                <RouterLink to={`/projects/${project.id}/backups`} size="sm">
                  {project.name}
                </RouterLink>
              ),
            },
            { title: 'Schedule', cell: ({ policy }) => (policy.enabled ? scheduleText(policy) : 'off') },
            {
              title: 'Last run',
              cell: ({ policy }) => (policy.lastRun ? <StatusBadge status={policy.lastRun.status} /> : 'none yet'),
            },
            { title: 'Next', isWide: true, cell: ({ policy }) => (policy.nextRunAt ? <TimeAgo time={policy.nextRunAt} /> : '–') },
            {
              title: 'Last proven',
              cell: ({ policy }) => (policy.lastProvenAt ? <TimeAgo time={policy.lastProvenAt} /> : 'not yet'),
            },
            {
              title: '',
              alignRight: true,
              cell: (row) => (
                <RowButton aria-label={`Change the policy of ${row.project.name}`} onClick={() => setEdited(row)}>
                  Change
                </RowButton>
              ),
            },
          ]}
        />
      )}
      {edited && <EditPolicy {...edited} onClose={() => setEdited(undefined)} />}
    </Section>
  )
}
