import { Button, Code, Group, Modal, Stack, Text } from '@mantine/core'
import { CopyText } from './copy-text.tsx'

interface Props {
  title: string
  secret: string | undefined
  /** Example of how the secret is used. */
  use?(secret: string): string
  onClose(): void
}

/** Shows a new secret, once. */
export function SecretOnce({ title, secret, use, onClose }: Props) {
  return (
    <Modal
      opened={secret !== undefined}
      onClose={onClose}
      title={title}
      closeButtonProps={{ 'aria-label': 'Close' }}
      closeOnClickOutside={false}
    >
      {secret !== undefined && (
        <Stack>
          <Text size="sm">Copy it now. Only its hash is stored; it is not shown again.</Text>
          <Group wrap="nowrap" gap="xs">
            <Code className="wrap-anywhere">{secret}</Code>
            <CopyText value={secret} label="Copy" />
          </Group>
          {use && (
            <Code block className="wrap-anywhere" style={{ whiteSpace: 'pre-wrap' }}>
              {use(secret)}
            </Code>
          )}
          <Group justify="flex-end">
            <Button onClick={onClose}>Done</Button>
          </Group>
        </Stack>
      )}
    </Modal>
  )
}
