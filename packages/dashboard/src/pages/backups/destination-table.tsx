import { type BackupDestination, contract } from '@berth/contract'
import { Checkbox, Group, Text } from '@mantine/core'
import { IconDatabase } from '@tabler/icons-react'
import { useState } from 'react'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { RowButton } from '../../components/row-button.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { useChange } from '../../data/change.ts'
import { useRefusal } from '../../data/refusal.ts'
import { destinationText } from '../../text/destination-text.ts'
import { EditDestination } from './edit-destination.tsx'

export function DestinationTable({ destinations }: { destinations: readonly BackupDestination[] }) {
  const [confirming, setConfirming] = useState<BackupDestination>()
  const [isForced, setIsForced] = useState(false)
  const [edited, setEdited] = useState<BackupDestination>()
  const writeRefusal = useRefusal('backup_destination:write')
  const adminRefusal = useRefusal('backup_destination:admin')
  const refreshes = [contract.backups.listDestinations]
  const check = useChange(contract.backups.checkDestination, {
    refreshes,
    successMessage: ({ data }) => (data.ok ? 'The destination works.' : `The check failed: ${data.reason}`),
  })
  const remove = useChange(contract.backups.deleteDestination, { refreshes, successMessage: 'Deleted.' })
  if (destinations.length === 0)
    return (
      <EmptyState icon={IconDatabase} title="No destinations">
        A folder of this machine, an S3 bucket or an SFTP server. Prefer one on another machine: it survives a failure of this
        one.
      </EmptyState>
    )
  const columns: Column<BackupDestination>[] = [
    {
      title: 'Destination',
      isHeading: true,
      cell: (one) => (
        <div>
          <Text size="sm" fw={500}>
            {one.name}
          </Text>
          <Text size="xs" c="dimmed" className="wrap-anywhere">
            {destinationText(one)}
          </Text>
        </div>
      ),
    },
    {
      title: 'Last check',
      cell: ({ lastCheck }) =>
        lastCheck ? (
          <div>
            <StatusBadge status={lastCheck.ok ? 'passed' : 'failed'} />
            <Text size="xs" c="dimmed">
              {lastCheck.reason} <TimeAgo time={lastCheck.checkedAt} />
            </Text>
          </div>
        ) : (
          'not checked yet'
        ),
    },
    {
      title: '',
      alignRight: true,
      cell: (one) => (
        <Group gap={4} justify="flex-end">
          <RowButton
            refusal={writeRefusal}
            loading={check.isPending && check.variables?.params.id === one.id}
            aria-label={`Check ${one.name}`}
            onClick={() => check.mutate({ params: { id: one.id } })}
          >
            Check
          </RowButton>
          <RowButton refusal={writeRefusal} aria-label={`Change ${one.name}`} onClick={() => setEdited(one)}>
            Change
          </RowButton>
          <RowButton
            refusal={adminRefusal}
            aria-label={`Delete ${one.name}`}
            onClick={() => {
              setIsForced(false)
              setConfirming(one)
            }}
          >
            Delete
          </RowButton>
        </Group>
      ),
    },
  ]
  return (
    <>
      <DataTable label="Destinations" columns={columns} rows={destinations} keyOf={({ id }) => id} />
      {edited && <EditDestination destination={edited} onClose={() => setEdited(undefined)} />}
      <ConfirmDialog
        isOpen={!!confirming}
        title={`Delete ${confirming?.name ?? ''}?`}
        action="Delete"
        isPending={remove.isPending}
        onConfirm={() =>
          confirming &&
          remove.mutate(
            { params: { id: confirming.id }, query: { force: isForced } },
            { onSettled: () => setConfirming(undefined) },
          )
        }
        onClose={() => setConfirming(undefined)}
      >
        <Text size="sm">Removes the destination and its credentials from Berth. The stored backups are not deleted.</Text>
        <Checkbox
          mt="sm"
          label="Delete it even if it stores backups. They can no longer be restored."
          checked={isForced}
          onChange={(event) => setIsForced(event.currentTarget.checked)}
        />
      </ConfirmDialog>
    </>
  )
}
