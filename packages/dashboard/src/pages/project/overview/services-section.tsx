import type { ServiceStatus } from '@berth/contract'
import { Text } from '@mantine/core'
import { type Column, DataTable } from '../../../components/data-table.tsx'
import { Section } from '../../../components/section.tsx'
import { StatusBadge } from '../../../components/status-badge.tsx'
import { TimeAgo } from '../../../components/time-ago.tsx'
import { exitText } from '../../../text/exit-text.ts'

/** The status of each service: shows a stopped worker even if the web service is healthy. */
export function ServicesSection({ services }: { services: readonly ServiceStatus[] }) {
  return (
    <Section title="Services" isFlush>
      <DataTable label="Services" columns={columns} rows={services} keyOf={({ name }) => name} />
    </Section>
  )
}

const columns: Column<ServiceStatus>[] = [
  {
    title: 'Service',
    isHeading: true,
    cell: ({ name }) => (
      <Text size="sm" fw={500}>
        {name}
      </Text>
    ),
  },
  {
    title: 'Status',
    cell: ({ status }) => <StatusBadge status={status} {...(status === 'running' ? { tone: 'good' } : {})} />,
  },
  { title: 'Restarts', alignRight: true, cell: ({ restarts }) => restarts },
  {
    title: 'Last exit',
    cell: ({ lastExit }) =>
      lastExit && (
        <Text size="sm">
          {exitText(lastExit)}, <TimeAgo time={lastExit.at} />
        </Text>
      ),
  },
]
