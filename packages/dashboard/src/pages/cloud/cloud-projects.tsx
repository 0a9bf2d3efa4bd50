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

/** All projects with their location, and a button to transfer each. */
export function CloudProjects({ isLinked }: { isLinked: boolean }) {
  const projects = useRead(contract.projects.home, {})
  const [selectedId, setSelectedId] = useState<string>()
  const selected = projects.data?.find(({ id }) => id === selectedId)
  if (!isLinked)
    return (
      <Text size="sm" c="dimmed">
        Without a link, all projects are on this instance.
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
      alignRight: true,
      cell: ({ id, name, location }) => (
        <RowButton
          aria-label={location === 'cloud' ? `Transfer ${name} back` : `Transfer ${name}`}
          onClick={() => setSelectedId(id)}
        >
          {location === 'cloud' ? 'Transfer back…' : 'Transfer…'}
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
                {rows.length - maxShown} more projects are not listed. Transfer them in their settings.
              </Text>
            )}
          </>
        )}
      </Loaded>
      <Modal
        opened={!!selected}
        onClose={() => setSelectedId(undefined)}
        title={selected ? `Transfer ${selected.name}` : ''}
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        {selected && (
          <>
            <Text size="sm" mb="md">
              The project is {selected.location === 'cloud' ? 'in the cloud' : 'on this instance'}. It stays live there until the
              target has received and checked all of its data.
            </Text>
            <MoveProject project={selected} />
          </>
        )}
      </Modal>
    </Section>
  )
}
