import { type Channel, contract } from '@berth/contract'
import { Group, Switch, Text } from '@mantine/core'
import { useState } from 'react'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { RowButton } from '../../components/row-button.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { useChange } from '../../data/change.ts'
import { channelText } from '../../text/channel-text.ts'

export function ChannelTable({ channels }: { channels: readonly Channel[] }) {
  const [confirming, setConfirming] = useState<Channel>()
  const refreshes = [contract.notifications.listChannels]
  const update = useChange(contract.notifications.updateChannel, { refreshes })
  const test = useChange(contract.notifications.testChannel, { refreshes, successMessage: 'Delivered. The channel is verified.' })
  const remove = useChange(contract.notifications.deleteChannel, { refreshes, successMessage: 'Deleted.' })
  if (channels.length === 0)
    return (
      <Text c="dimmed" size="sm" px={{ base: 'md', sm: 'lg' }} pb="lg">
        No channels. Add one below.
      </Text>
    )
  const columns: Column<Channel>[] = [
    {
      title: 'Channel',
      isHeading: true,
      cell: (one) => (
        <div>
          <Text size="sm" fw={500}>
            {one.label}
          </Text>
          <Text size="xs" c="dimmed" className="wrap-anywhere">
            {channelText(one)}
          </Text>
        </div>
      ),
    },
    {
      title: 'State',
      cell: ({ verified }) =>
        verified ? (
          <StatusBadge status="verified" />
        ) : (
          <div>
            <StatusBadge status="unverified" />
            <Text size="xs" c="dimmed">
              not used until tested
            </Text>
          </div>
        ),
    },
    {
      title: 'Enabled',
      cell: ({ id, label, enabled }) => (
        <Switch
          size="xs"
          aria-label={`${label} on`}
          checked={enabled}
          onChange={() => update.mutate({ params: { id }, body: { enabled: !enabled } })}
        />
      ),
    },
    {
      title: '',
      alignRight: true,
      cell: (one) => (
        <Group gap={4} justify="flex-end">
          <RowButton
            aria-label={`Test ${one.label}`}
            loading={test.isPending && test.variables?.params.id === one.id}
            onClick={() => test.mutate({ params: { id: one.id } })}
          >
            Test
          </RowButton>
          <RowButton aria-label={`Delete ${one.label}`} onClick={() => setConfirming(one)}>
            Delete
          </RowButton>
        </Group>
      ),
    },
  ]
  return (
    <>
      <DataTable label="Channels" columns={columns} rows={channels} keyOf={({ id }) => id} />
      <ConfirmDialog
        isOpen={!!confirming}
        title={`Delete ${confirming?.label ?? ''}?`}
        action="Delete"
        isPending={remove.isPending}
        onConfirm={() =>
          confirming && remove.mutate({ params: { id: confirming.id } }, { onSettled: () => setConfirming(undefined) })
        }
        onClose={() => setConfirming(undefined)}
      >
        The notification settings for this channel are deleted too. Its secret cannot be recovered.
      </ConfirmDialog>
    </>
  )
}
