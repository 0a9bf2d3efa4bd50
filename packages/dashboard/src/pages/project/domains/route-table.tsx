import { contract, type Project, type ProjectDomain, type ProjectRoute } from '@berth/contract'
import { Badge, Group, Text } from '@mantine/core'
import { ActionButton } from '../../../components/action-button.tsx'
import { type Column, DataTable } from '../../../components/data-table.tsx'
import { ExternalLink } from '../../../components/external-link.tsx'
import { RowButton } from '../../../components/row-button.tsx'
import { Section } from '../../../components/section.tsx'
import { StatusBadge } from '../../../components/status-badge.tsx'
import { useChange } from '../../../data/change.ts'
import { domainReads } from '../../../data/project.ts'
import { useProjectRefusal } from '../../../data/refusal.ts'
import { domainActions, domainReason, domainStatus } from '../../../rules/domain-actions.ts'
import { wasLive } from '../../../rules/was-live.ts'
import { tlsText } from '../../../text/tls-text.ts'

interface Props {
  project: Project
  domains: readonly ProjectDomain[]
  /** Called when the user opens the DNS records of a host name. */
  onShown(hostname: string): void
  onRemoved(domain: ProjectDomain): void
}

/** A route of the project with its domain. The route of a single service has no domain. */
interface Row {
  route: ProjectRoute
  domain: ProjectDomain | undefined
}

export function RouteTable({ project, domains, onShown, onRemoved }: Props) {
  const params = { id: project.id }
  const refusal = useProjectRefusal(project.id, 'write')
  const makePrimary = useChange(contract.projects.makeDomainPrimary, {
    refreshes: domainReads,
    successMessage: ({ data: { hostname, state } }) =>
      state === 'active'
        ? `${hostname} is the primary domain.`
        : `${hostname} is the primary domain. It becomes the project's address once it is verified and served.`,
  })
  const retry = useChange(contract.projects.retryRouting, { refreshes: domainReads, successMessage: 'Routing updated.' })
  const update = useChange(contract.projects.update, { refreshes: domainReads })
  const chosen = project.config.serviceRoutes ?? {}
  const serve = (service: string, isServed: boolean) =>
    update.mutate({ params, body: { serviceRoutes: { ...chosen, [service]: isServed } } })
  const unexposed = Object.keys(chosen).filter((service) => !chosen[service])
  const known = new Map(domains.map((domain) => [domain.hostname, domain]))
  const rows = project.routes.map((route): Row => ({ route, domain: known.get(route.hostname) }))
  const actionsOf = ({ route: { service }, domain }: Row) => {
    if (service !== undefined)
      return (
        <RowButton refusal={refusal} onClick={() => serve(service, false)}>
          Stop serving
        </RowButton>
      )
    if (!domain) return null
    const { hostname } = domain
    const { canBePrimary, canRemove, showsRecords } = domainActions(domain)
    return (
      <Group gap="xs" justify="flex-end">
        {canBePrimary && (
          <RowButton
            refusal={refusal}
            aria-label={`Make primary: ${hostname}`}
            onClick={() => makePrimary.mutate({ params: { ...params, hostname } })}
          >
            Make primary
          </RowButton>
        )}
        {canRemove && !showsRecords && (
          <RowButton aria-label={`Show DNS records: ${hostname}`} onClick={() => onShown(hostname)}>
            Show DNS records
          </RowButton>
        )}
        {canRemove && (
          <RowButton refusal={refusal} aria-label={`Remove ${hostname}`} onClick={() => onRemoved(domain)}>
            Remove
          </RowButton>
        )}
      </Group>
    )
  }
  const columns: Column<Row>[] = [
    { title: 'Address', isHeading: true, cell: (row) => <Address {...row} isServed={wasLive(project)} /> },
    { title: 'Route', cell: (row) => <RouteState {...row} /> },
    { title: 'Certificate', cell: ({ route, domain = route }) => tlsText[domain.tls] },
    { title: '', alignRight: true, cell: actionsOf },
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
      <DataTable label="Addresses" columns={columns} rows={rows} keyOf={({ route }) => route.hostname} />
      {unexposed.map((service) => (
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

/** A link if a version was ever live, unless the domain waits for DNS: then the address may lead to another site. */
const Address = ({ route: { url, hostname, primary, kind, service }, domain, isServed }: Row & { isServed: boolean }) => (
  <Group gap="xs" miw="15rem">
    {!isServed || (domain && domainActions(domain).showsRecords) ? <Text size="sm">{hostname}</Text> : <ExternalLink url={url} />}
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
)

function RouteState({ route, domain }: Row) {
  const reason = domain ? domainReason(domain) : route.reason
  return (
    <div>
      <StatusBadge status={domain ? domainStatus(domain) : route.state} />
      {reason && (
        <Text size="xs" c="dimmed">
          {reason}
        </Text>
      )}
    </div>
  )
}
