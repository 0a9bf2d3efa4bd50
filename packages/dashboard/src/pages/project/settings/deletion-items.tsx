import type { DeletionItem } from '@berth/contract'
import { Badge, Group, Stack, Text } from '@mantine/core'
import { deletionLines } from '../../../rules/deletion-lines.ts'

interface Props {
  items: readonly DeletionItem[]
  deletesVolumes: boolean
}

export const DeletionItems = ({ items, deletesVolumes }: Props) => (
  <Stack
    gap={4}
    p="xs"
    style={{ border: '1px solid var(--berth-line)', borderRadius: 'var(--mantine-radius-md)' }}
    role="group"
    aria-label="What is deleted and what is kept"
  >
    {deletionLines(items, deletesVolumes).map(({ id, text, isKept }) => (
      <Group key={id} justify="space-between" wrap="nowrap" gap="xs">
        <Text size="sm" className="wrap-anywhere">
          {text}
        </Text>
        <Badge size="sm" variant="default" style={{ flex: 'none' }}>
          {isKept ? 'kept' : 'removed'}
        </Badge>
      </Group>
    ))}
  </Stack>
)
