import { contract, type Project, type PullRequest } from '@berth/contract'
import { Text } from '@mantine/core'
import { type Column, DataTable } from '../../../components/data-table.tsx'
import { ExternalLink } from '../../../components/external-link.tsx'
import { Loaded } from '../../../components/loaded.tsx'
import { RowButton } from '../../../components/row-button.tsx'
import { Section } from '../../../components/section.tsx'
import { SkeletonRows } from '../../../components/skeleton-rows.tsx'
import { StatusBadge } from '../../../components/status-badge.tsx'
import { useChange } from '../../../data/change.ts'
import { useRead } from '../../../data/read.ts'
import { useProjectRefusal } from '../../../data/refusal.ts'

/** Pull requests and their previews; code of a fork runs only after a user approved it. */
export function PullRequests({ project }: { project: Project }) {
  const params = { id: project.id }
  const refusal = useProjectRefusal(project.id, 'admin')
  const requests = useRead(contract.gitEvents.listPullRequests, { params }, { refetchIntervalMs: 10_000 })
  const approve = useChange(contract.gitEvents.approvePullRequest, {
    refreshes: [contract.gitEvents.listPullRequests],
    successMessage: 'Building the preview.',
  })
  const columns: Column<PullRequest>[] = [
    { title: 'Pull request', isHeading: true, cell: ({ number, title, author }) => `#${number} ${title} (${author})` },
    {
      title: 'Preview',
      cell: ({ state, reason, url }) => (
        <div>
          <StatusBadge status={state} />
          {reason && (
            <Text size="xs" c="dimmed">
              {reason}
            </Text>
          )}
          {url && <ExternalLink url={url} />}
        </div>
      ),
    },
    {
      title: '',
      alignRight: true,
      cell: ({ state, number, commit }) =>
        state === 'waiting' && (
          <RowButton
            refusal={refusal}
            onClick={() => approve.mutate({ params: { ...params, number: String(number) }, body: { commit } })}
          >
            Approve
          </RowButton>
        ),
    },
  ]
  return (
    <Section
      title="Pull requests"
      description={project.config.previews ? undefined : 'Previews are off. Turn them on below.'}
      isFlush
    >
      <Loaded query={requests} skeleton={<SkeletonRows rows={1} />}>
        {(rows) =>
          rows.length > 0 ? (
            <DataTable label="Pull requests" columns={columns} rows={rows} keyOf={({ number }) => String(number)} />
          ) : (
            <Text c="dimmed" size="sm" px={{ base: 'md', sm: 'lg' }} pb="lg">
              The git host has reported no open pull requests.
            </Text>
          )
        }
      </Loaded>
    </Section>
  )
}
