import type { NotificationCategory } from '@berth/contract'
import { Text } from '@mantine/core'

export const CategoryText = ({ category: { label, description } }: { category: NotificationCategory }) => (
  <div>
    <Text size="sm" fw={500}>
      {label}
    </Text>
    <Text size="xs" c="dimmed">
      {description}
    </Text>
  </div>
)
