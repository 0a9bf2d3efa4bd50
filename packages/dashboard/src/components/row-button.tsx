import type { ComponentProps } from 'react'
import { ActionButton } from './action-button.tsx'

/** What can be done with one row of a table: small and quiet, so that the rows are read first. */
export const RowButton = (props: ComponentProps<typeof ActionButton>) => (
  <ActionButton size="compact-sm" variant="default" {...props} />
)
