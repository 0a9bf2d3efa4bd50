import { Text, Title } from '@mantine/core'
import type { Icon } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import classes from './empty-state.module.css'

interface Props {
  icon: Icon
  title: string
  children?: ReactNode
  actions?: ReactNode
}

/** A placeholder for an empty list: what is missing, what it is for, and how to create it. */
export function EmptyState({ icon: Picture, title, children, actions }: Props) {
  return (
    <div className={classes.empty}>
      <Picture size={32} stroke={1.4} aria-hidden />
      <Title order={2} size="h5">
        {title}
      </Title>
      {children && (
        <Text c="dimmed" size="sm" maw={460} component="div">
          {children}
        </Text>
      )}
      {actions && <div className={classes.actions}>{actions}</div>}
    </div>
  )
}
