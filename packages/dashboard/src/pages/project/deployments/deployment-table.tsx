import type { Deployment } from '@berth/contract'
import { IconRocket } from '@tabler/icons-react'
import { type Column, DataTable } from '../../../components/data-table.tsx'
import { EmptyState } from '../../../components/empty-state.tsx'
import { ButtonLink, RouterLink } from '../../../components/router-link.tsx'
import { StatusBadge } from '../../../components/status-badge.tsx'
import { TimeAgo } from '../../../components/time-ago.tsx'
import { useNow } from '../../../data/now.ts'
import { deploymentText, triggerText } from '../../../rules/newest-deployments.ts'
import { durationText, elapsedMs } from '../../../text/times.ts'
import classes from './deployment-table.module.css'

interface Props {
  deployments: readonly Deployment[]
  /** True if the rows belong to several projects. */
  nameOf?(projectId: string): string
  /** True if a filter is set. */
  isFiltered?: boolean
}

export function DeploymentTable({ deployments, nameOf, isFiltered }: Props) {
  const now = useNow()
  if (deployments.length === 0)
    return isFiltered ? (
      <EmptyState icon={IconRocket} title="No matching deployments" />
    ) : (
      <EmptyState
        icon={IconRocket}
        title="No deployments"
        actions={
          nameOf && (
            <ButtonLink to="/" variant="default">
              Go to projects
            </ButtonLink>
          )
        }
      >
        {nameOf ? 'Open a project and deploy it.' : 'Deploy the project.'} The deployment appears here.
      </EmptyState>
    )
  const columns: Column<Deployment>[] = [
    {
      title: 'Deployment',
      isHeading: true,
      cell: (one) => (
        <RouterLink to={`/projects/${one.projectId}/deployments/${one.id}`} size="sm" fw={500}>
          {nameOf ? `${nameOf(one.projectId)} ` : ''}#{one.number}
        </RouterLink>
      ),
    },
    { title: 'Status', cell: (one) => <StatusBadge status={one.status} title={one.error?.message} /> },
    { title: 'Commit', cell: (one) => one.commit && <span className="wrap-anywhere">{deploymentText(one)}</span> },
    { title: 'Environment', cell: (one) => one.environment },
    { title: 'Trigger', cell: (one) => triggerText[one.trigger], isWide: true },
    {
      title: 'Duration',
      alignRight: true,
      cell: (one) => {
        const ms = elapsedMs(one.startedAt, one.finishedAt, now)
        if (ms === null) return '–'
        return (
          <span>
            <span className={classes.took}>took </span>
            {durationText(ms)}
          </span>
        )
      },
    },
    { title: 'Created', alignRight: true, cell: (one) => <TimeAgo time={one.createdAt} /> },
  ]
  return <DataTable label="Deployments" isDense columns={columns} rows={deployments} keyOf={({ id }) => id} />
}
