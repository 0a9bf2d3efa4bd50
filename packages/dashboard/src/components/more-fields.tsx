import { Stack } from '@mantine/core'
import type { ReactNode } from 'react'
import classes from './more-fields.module.css'

interface Props {
  label: string
  isOpen?: boolean
  children: ReactNode
}

/** Fields that are collapsed at first, since their defaults usually fit. */
export const MoreFields = ({ label, isOpen, children }: Props) => (
  <details className={classes.more} open={isOpen}>
    <summary>{label}</summary>
    <Stack mt="sm">{children}</Stack>
  </details>
)
