import type { ComponentProps } from 'react'
import { ActionButton } from './action-button.tsx'

/** An action on one row of a table: small and unobtrusive, so that the rows are read first. */
export const RowButton = (props: ComponentProps<typeof ActionButton>) => (
  <ActionButton size="compact-sm" fz="xs" variant="default" {...props} />
)
