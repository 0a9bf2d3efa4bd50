import type { DeletionItem } from '@berth/contract'
import { Badge, Group, Stack, Text } from '@mantine/core'
import { sizeText } from '../../../text/sizes.ts'
import { exactTime } from '../../../text/times.ts'

interface Props {
  items: readonly DeletionItem[]
  deletesVolumes: boolean
}

const nameText = (name: string) => (/^\d{4}-\d\d-\d\dT/.test(name) ? exactTime(name) : name)

/** Kept items come first: users look for them before they delete. */
export function DeletionItems({ items, deletesVolumes }: Props) {
  // Volumes that were on the server before the project are always kept; their reason does not name the option.
  const isKept = ({ kept, reason }: DeletionItem) => kept && !(deletesVolumes && reason?.includes('deleteVolumes'))
  const ordered = [...items].sort((one, other) => Number(isKept(other)) - Number(isKept(one)))
  return (
    <Stack
      gap={4}
      mah="16rem"
      style={{ overflowY: 'auto' }}
      role="group"
      aria-label="What is deleted and what is kept"
      tabIndex={0}
    >
      {ordered.map((item) => (
        <Group key={`${item.kind} ${item.id}`} justify="space-between" wrap="nowrap" gap="xs">
          <Text size="sm" className="wrap-anywhere">
            {item.kind} {nameText(item.name)}
            {item.sizeBytes !== null && ` · ${sizeText(item.sizeBytes)}`}
          </Text>
          <Badge size="sm" variant="default" title={item.reason} style={{ flex: 'none' }}>
            {isKept(item) ? 'kept' : 'removed'}
          </Badge>
        </Group>
      ))}
    </Stack>
  )
}
