import { contract, type Domain, type Project, type ProjectRoute } from '@berth/contract'
import { Badge, Group, Text } from '@mantine/core'
import { ActionButton } from '../../../components/action-button.tsx'
import { type Column, DataTable } from '../../../components/data-table.tsx'
import { ExternalLink } from '../../../components/external-link.tsx'
import { RowButton } from '../../../components/row-button.tsx'
import { Section } from '../../../components/section.tsx'
import { StatusBadge } from '../../../components/status-badge.tsx'
import { useChange } from '../../../data/change.ts'
import { useProjectRefusal } from '../../../data/may.ts'
import { projectReads } from '../../../data/project.ts'
import { tlsWords } from '../../../words/tls-words.ts'

interface Props {
  project: Project
  onShown(domain: Domain): void
}

export function RouteTable({ project, onShown }: Props) {
  const params = { id: project.id }
  const refusal = useProjectRefusal(project.id, 'write')
  const connect = useChange(contract.projects.connectDomain, { refreshes: projectReads })
  const retry = useChange(contract.projects.retryRouting, { refreshes: projectReads, says: 'Routing updated.' })
  const update = useChange(contract.projects.update, { refreshes: projectReads })
  const chosen = project.config.serviceRoutes ?? {}
  const serve = (service: string, isServed: boolean) =>
    update.mutate({ params, body: { serviceRoutes: { ...chosen, [service]: isServed } } })
  const off = Object.keys(chosen).filter((service) => !chosen[service])
  const columns: Column<ProjectRoute>[] = [
    {
      title: 'Address',
      isHeading: true,
      cell: ({ url, primary, kind, service }) => (
        <Group gap="xs">
          <ExternalLink url={url} />
          {primary && (
            <Badge size="sm" variant="default">
              primary
            </Badge>
          )}
          {kind === 'free' && (
            <Badge size="sm" variant="default">
              {service ?? 'free'}
            </Badge>
          )}
        </Group>
      ),
    },
    {
      title: 'Route',
      cell: ({ state, reason }) => (
        <div>
          <StatusBadge status={state} />
          {reason && (
            <Text size="xs" c="dimmed">
              {reason}
            </Text>
          )}
        </div>
      ),
    },
    { title: 'Certificate', cell: ({ tls }) => tlsWords[tls] },
    {
      title: '',
      isNumber: true,
      cell: ({ kind, hostname, primary, service }) =>
        service !== undefined ? (
          <RowButton refusal={refusal} onClick={() => serve(service, false)}>
            Stop serving
          </RowButton>
        ) : (
          kind === 'custom' && (
            <RowButton
              refusal={refusal}
              onClick={() => connect.mutate({ params, body: { domain: hostname } }, { onSuccess: ({ data }) => onShown(data) })}
            >
              {primary ? 'Show DNS records' : 'Make primary'}
            </RowButton>
          )
        ),
    },
  ]
  return (
    <Section
      title="Addresses"
      isFlush
      actions={
        <ActionButton
          size="xs"
          variant="default"
          refusal={refusal}
          loading={retry.isPending}
          onClick={() => retry.mutate({ params })}
        >
          Sync routes again
        </ActionButton>
      }
    >
      <DataTable label="Addresses" columns={columns} rows={project.routes} keyOf={({ hostname }) => hostname} />
      {off.map((service) => (
        <Group key={service} gap="xs" p="sm">
          <Text size="sm">{service} has no public address.</Text>
          <RowButton refusal={refusal} onClick={() => serve(service, true)}>
            Expose with the next deployment
          </RowButton>
        </Group>
      ))}
    </Section>
  )
}
