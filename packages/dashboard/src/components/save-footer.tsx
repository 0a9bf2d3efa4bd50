import { Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { ActionButton } from './action-button.tsx'

interface Props {
  /** A hint for the user before saving. */
  children?: ReactNode
  refusal: string | undefined
  isPending: boolean
  label?: string
}

/** The footer of a form in a section: a hint on one side, the button on the other. */
export const SaveFooter = ({ children, refusal, isPending, label = 'Save' }: Props) => (
  <>
    <Text size="sm" c="dimmed" component="div">
      {children}
    </Text>
    <ActionButton size="xs" type="submit" refusal={refusal} loading={isPending}>
      {label}
    </ActionButton>
  </>
)
