import { type Channel, contract, type NotificationCategory } from '@berth/contract'
import { Switch } from '@mantine/core'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { useChange } from '../../data/change.ts'
import { useRead } from '../../data/read.ts'
import { isChosen } from '../../rules/choices.ts'
import { CategoryText } from './category-text.tsx'

/** A table of categories and the user's channels. */
export function ChoiceMatrix({ channels }: { channels: readonly Channel[] }) {
  const categories = useRead(contract.notifications.listCategories, { query: {} })
  const { data: subscriptions = [] } = useRead(contract.notifications.listSubscriptions, { query: { limit: 500 } })
  const { data: defaults = [] } = useRead(contract.notifications.listDefaults, { query: {} })
  const choose = useChange(contract.notifications.putSubscription, { refreshes: [contract.notifications.listSubscriptions] })
  const columns: Column<NotificationCategory>[] = [
    { title: 'Event', isHeading: true, cell: (category) => <CategoryText category={category} /> },
    ...channels.map(
      (channel): Column<NotificationCategory> => ({
        title: channel.verified ? channel.label : `${channel.label} (not tested)`,
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
  ]
  return (
    <Loaded query={categories}>
      {(rows) => <DataTable label="Choices" columns={columns} rows={rows} keyOf={({ id }) => id} />}
    </Loaded>
  )
}
