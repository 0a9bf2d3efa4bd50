import { contract, type Project } from '@berth/contract'
import { Modal, Text } from '@mantine/core'
import { useState } from 'react'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { RouterLink } from '../../components/router-link.tsx'
import { RowButton } from '../../components/row-button.tsx'
import { Section } from '../../components/section.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { useRead } from '../../data/read.ts'
import { MoveProject } from './move-project.tsx'

const maxShown = 200

/** All projects with their location, and a way to move them. */
export function CloudProjects({ isLinked }: { isLinked: boolean }) {
  const projects = useRead(contract.projects.home, {})
  const [movedId, setMoved] = useState<string>()
  const moved = projects.data?.find(({ id }) => id === movedId)
  if (!isLinked)
    return (
      <Text size="sm" c="dimmed">
        Without a link everything lives here, and nothing leaves this instance.
      </Text>
    )
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
    { title: 'Location', cell: ({ location }) => (location === 'cloud' ? 'in the cloud' : 'here') },
    { title: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
    {
      title: '',
      isNumber: true,
      cell: ({ id, name, location }) => (
        <RowButton aria-label={location === 'cloud' ? `Bring ${name} back` : `Move ${name}`} onClick={() => setMoved(id)}>
          {location === 'cloud' ? 'Bring back…' : 'Move…'}
        </RowButton>
      ),
    },
  ]
  return (
    <Section title="Projects by location" isFlush>
      <Loaded query={projects}>
        {(rows) => (
          <>
            <DataTable label="Projects" columns={columns} rows={rows.slice(0, maxShown)} keyOf={({ id }) => id} />
            {rows.length > maxShown && (
              <Text size="sm" c="dimmed" p="md">
                and {rows.length - maxShown} more: each moves by its own settings
              </Text>
            )}
          </>
        )}
      </Loaded>
      <Modal
        opened={!!moved}
        onClose={() => setMoved(undefined)}
        title={moved ? `Where ${moved.name} lives` : ''}
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        {moved && (
          <>
            <Text size="sm" mb="md">
              It is {moved.location === 'cloud' ? 'in the cloud' : 'here'}, and stays live there until the target has everything
              and has checked it.
            </Text>
            <MoveProject project={moved} />
          </>
        )}
      </Modal>
    </Section>
  )
}
