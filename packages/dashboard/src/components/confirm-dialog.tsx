import { Button, Group, Modal, Stack, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'

interface Props {
  isOpen: boolean
  title: string
  /** Describes the consequences. */
  children: ReactNode
  action: string
  /** Text that the user must type to enable the button, for irreversible actions. */
  typed?: string
  isPending?: boolean
  onConfirm(): void
  onClose(): void
}

/** A confirmation for actions that cannot be undone; if there is an undo, act and offer it instead. */
export function ConfirmDialog({ isOpen, title, children, action, typed, isPending, onConfirm, onClose }: Props) {
  const [text, setText] = useState('')
  const isReady = !typed || text === typed
  return (
    <Modal opened={isOpen} onClose={onClose} title={title} centered closeButtonProps={{ 'aria-label': 'Close' }}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (isReady) onConfirm()
        }}
      >
        <Stack fz="sm">
          {children}
          {typed && (
            <TextInput
              label={`Type ${typed} to confirm`}
              value={text}
              onChange={(event) => setText(event.currentTarget.value)}
              autoComplete="off"
              data-autofocus
            />
          )}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" color="red" loading={isPending} disabled={!isReady}>
              {action}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
