import { Alert, Button, Group, type MantineSpacing, Text } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { errorText } from '../text/error-text.ts'

interface Props {
  error: unknown
  onRetry?: () => void
  mt?: MantineSpacing
}

/** An error with its message, the next step, and a retry button. */
export function ErrorState({ error, onRetry, mt }: Props) {
  const { title, message } = errorText(error)
  return (
    <Alert mt={mt} color="red" variant="light" title={title} icon={<IconAlertTriangle aria-hidden />} role="alert">
      <Group justify="space-between" gap="sm">
        <Text size="sm" className="wrap-anywhere">
          {message}
        </Text>
        {onRetry && (
          <Button size="xs" variant="default" onClick={onRetry}>
            Try again
          </Button>
        )}
      </Group>
    </Alert>
  )
}
