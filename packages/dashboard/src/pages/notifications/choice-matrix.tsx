import { type Channel, contract, type NotificationCategory } from '@berth/contract'
import { Switch, Text } from '@mantine/core'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { useChange } from '../../data/change.ts'
import { useRead } from '../../data/read.ts'
import { useRefusal } from '../../data/refusal.ts'
import { defaultOf, isChosen } from '../../rules/choices.ts'

/** A table of categories and channels, with the organisation's defaults. */
export function ChoiceMatrix({ channels }: { channels: readonly Channel[] }) {
  const adminRefusal = useRefusal('notifications:admin')
  const categories = useRead(contract.notifications.listCategories, { query: {} })
  const { data: subscriptions = [] } = useRead(contract.notifications.listSubscriptions, { query: { limit: 500 } })
  const { data: defaults = [] } = useRead(contract.notifications.listDefaults, { query: {} })
  const choose = useChange(contract.notifications.putSubscription, { refreshes: [contract.notifications.listSubscriptions] })
  const setDefault = useChange(contract.notifications.putDefault, { refreshes: [contract.notifications.listDefaults] })
  const columns: Column<NotificationCategory>[] = [
    {
      title: 'Event',
      isHeading: true,
      cell: ({ label, description }) => (
        <div>
          <Text size="sm" fw={500}>
            {label}
          </Text>
          <Text size="xs" c="dimmed">
            {description}
          </Text>
        </div>
      ),
    },
    ...channels.map(
      (channel): Column<NotificationCategory> => ({
        title: channel.label,
        cell: (category) => {
          const enabled = isChosen(category, channel, subscriptions, defaults)
          return (
            <Switch
              size="xs"
              aria-label={`${category.label} to ${channel.label}`}
              checked={enabled}
              onChange={() => choose.mutate({ body: { category: category.id, channelId: channel.id, enabled: !enabled } })}
            />
          )
        },
      }),
    ),
    {
      title: "Organisation's default",
      cell: (category) => {
        const defaultEnabled = defaultOf(category, defaults)
        return (
          <Switch
            size="xs"
            aria-label={`Default for ${category.label}`}
            checked={defaultEnabled}
            disabled={!!adminRefusal}
            title={adminRefusal}
            onChange={() => setDefault.mutate({ body: { category: category.id, defaultEnabled: !defaultEnabled } })}
          />
        )
      },
    },
  ]
  return (
    <Loaded query={categories}>
      {(rows) => <DataTable label="Choices" columns={columns} rows={rows} keyOf={({ id }) => id} />}
    </Loaded>
  )
}
