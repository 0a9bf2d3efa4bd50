import type { DeletionItem } from '@berth/contract'
import { Badge, Group, Stack, Text } from '@mantine/core'
import { sizeWords } from '../../../words/sizes.ts'

interface Props {
  items: readonly DeletionItem[]
  deletesVolumes: boolean
}

const shownAtMost = 12

export function DeletionItems({ items, deletesVolumes }: Props) {
  const isKept = ({ kept, kind }: DeletionItem) => kept && !(deletesVolumes && kind === 'volume')
  return (
    <Stack gap={4}>
      {items.slice(0, shownAtMost).map((item) => (
        <Group key={`${item.kind} ${item.id}`} justify="space-between" wrap="nowrap" gap="xs">
          <Text size="sm" className="wrap-anywhere">
            {item.kind} {item.name}
            {item.sizeBytes !== null && ` · ${sizeWords(item.sizeBytes)}`}
          </Text>
          <Badge size="sm" variant="default" title={item.reason} style={{ flex: 'none' }}>
            {isKept(item) ? 'kept' : 'removed'}
          </Badge>
        </Group>
      ))}
      {items.length > shownAtMost && (
        <Text size="sm" c="dimmed">
          and {items.length - shownAtMost} more
        </Text>
      )}
    </Stack>
  )
}
