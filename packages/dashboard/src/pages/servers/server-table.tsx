import { contract, type Server } from '@berth/contract'
import { Text } from '@mantine/core'
import { IconServer } from '@tabler/icons-react'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { RouterLink } from '../../components/router-link.tsx'
import { RowButton } from '../../components/row-button.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { useChange } from '../../data/change.ts'
import { useRefusal } from '../../data/refusal.ts'

export function ServerTable({ servers }: { servers: readonly Server[] }) {
  const refusal = useRefusal('server:write')
  const check = useChange(contract.servers.check, {
    refreshes: [contract.servers.list, contract.servers.get],
    successMessage: ({ data }) =>
      `Reachable in ${data.latencyMs} ms${data.docker ? `, Docker ${data.docker.version}` : ', but has no Docker'}.`,
  })
  if (servers.length === 0)
    return (
      <EmptyState icon={IconServer} title="No servers">
        Add one below. Nothing is contacted until you check it.
      </EmptyState>
    )
  const columns: Column<Server>[] = [
    {
      title: 'Server',
      isHeading: true,
      cell: ({ id, name, user, host, port }) => (
        <div>
          <RouterLink to={`/servers/${id}`} size="sm" fw={500}>
            {name}
          </RouterLink>
          <Text size="xs" c="dimmed">
            {user}@{host}:{port}
          </Text>
        </div>
      ),
    },
    {
      title: 'State',
      cell: ({ status, statusReason }) => (
        <div>
          <StatusBadge status={status} />
          {statusReason && (
            <Text size="xs" c="dimmed">
              {statusReason}
            </Text>
          )}
        </div>
      ),
    },
    { title: 'Checked', cell: ({ checkedAt }) => (checkedAt ? <TimeAgo time={checkedAt} /> : 'never') },
    {
      title: '',
      alignRight: true,
      cell: ({ id, name }) => (
        <RowButton
          refusal={refusal}
          aria-label={`Check ${name}`}
          loading={check.isPending && check.variables?.params.id === id}
          onClick={() => check.mutate({ params: { id } })}
        >
          Check
        </RowButton>
      ),
    },
  ]
  return <DataTable label="Servers" columns={columns} rows={servers} keyOf={({ id }) => id} />
}
