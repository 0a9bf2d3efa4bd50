import { contract, type Project } from '@berth/contract'
import { Text } from '@mantine/core'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { ButtonLink, RouterLink } from '../../components/router-link.tsx'
import { Section } from '../../components/section.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { useRead } from '../../data/read.ts'

const columns: Column<Project>[] = [
  {
    title: 'Project',
    isHeading: true,
    cell: ({ id, name }) => (
      <RouterLink to={`/projects/${id}`} size="sm">
        {name}
      </RouterLink>
    ),
  },
  { title: 'Lives', cell: ({ location }) => (location === 'cloud' ? 'in the cloud' : 'here') },
  { title: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
  {
    title: '',
    isNumber: true,
    cell: ({ id, location }) => (
      <ButtonLink to={`/projects/${id}/settings`} size="compact-sm" variant="default">
        {location === 'cloud' ? 'Bring back…' : 'Move…'}
      </ButtonLink>
    ),
  },
]

/** What lives where; a move is started, with its progress, in the project's settings. */
export function CloudProjects({ isLinked }: { isLinked: boolean }) {
  const projects = useRead(contract.projects.home, {})
  if (!isLinked)
    return (
      <Text size="sm" c="dimmed">
        Without a link everything lives here, and nothing leaves this instance.
      </Text>
    )
  return (
    <Section title="What lives where" isFlush>
      <Loaded query={projects}>
        {(rows) => <DataTable label="Projects" columns={columns} rows={rows.slice(0, 200)} keyOf={({ id }) => id} />}
      </Loaded>
    </Section>
  )
}
