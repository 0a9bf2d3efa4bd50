import { Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { ActionButton } from './action-button.tsx'

interface Props {
  /** What to know before saving. */
  children?: ReactNode
  refusal: string | undefined
  isPending: boolean
  label?: string
}

/** The foot of a form in a section: its words on one side, its button on the other. */
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
