import { contract, type NotificationCategory } from '@berth/contract'
import { Switch } from '@mantine/core'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Section } from '../../components/section.tsx'
import { useChange } from '../../data/change.ts'
import { useRead } from '../../data/read.ts'
import { useRefusal } from '../../data/refusal.ts'
import { defaultOf } from '../../rules/choices.ts'
import { CategoryText } from './category-text.tsx'

/** The organisation's defaults, shown only to users who may change them. */
export function DefaultsSection() {
  const refusal = useRefusal('notifications:admin')
  const categories = useRead(contract.notifications.listCategories, { query: {} })
  const { data: defaults = [] } = useRead(contract.notifications.listDefaults, { query: {} })
  const change = useChange(contract.notifications.putDefault, { refreshes: [contract.notifications.listDefaults] })
  if (refusal) return null
  const columns: Column<NotificationCategory>[] = [
    { title: 'Event', isHeading: true, cell: (category) => <CategoryText category={category} /> },
    {
      title: 'Default',
      cell: (category) => {
        const defaultEnabled = defaultOf(category, defaults)
        return (
          <Switch
            size="xs"
            aria-label={`Default for ${category.label}`}
            checked={defaultEnabled}
            onChange={() => change.mutate({ body: { category: category.id, defaultEnabled: !defaultEnabled } })}
          />
        )
      },
    },
  ]
  return (
    <Section
      title="Defaults of the organisation"
      isFlush
      description="A change applies to every member who has not made a choice of their own."
    >
      <Loaded query={categories}>
        {(rows) => <DataTable label="Defaults" columns={columns} rows={rows} keyOf={({ id }) => id} />}
      </Loaded>
    </Section>
  )
}
