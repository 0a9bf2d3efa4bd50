import { Text, Title } from '@mantine/core'
import { type ReactNode, useId } from 'react'
import classes from './section.module.css'

interface Props {
  title?: string
  description?: ReactNode
  actions?: ReactNode
  /** A hint and the save button. */
  footer?: ReactNode
  isDanger?: boolean
  /** The content extends to the edges, for tables and logs. */
  isFlush?: boolean
  children?: ReactNode
}

/** A card with one subject. */
export function Section({ title, description, actions, footer, isDanger, isFlush, children }: Props) {
  const id = useId()
  return (
    <section className={classes.section} data-danger={isDanger || undefined} aria-labelledby={title ? id : undefined}>
      {(title || actions) && (
        <header className={classes.header}>
          <div className={classes.heading}>
            {title && (
              <Title order={2} size="h5" id={id}>
                {title}
              </Title>
            )}
            {description && (
              <Text size="sm" c="dimmed" mt={2} component="div">
                {description}
              </Text>
            )}
          </div>
          {actions && <div className={classes.actions}>{actions}</div>}
        </header>
      )}
      {children !== undefined && <div className={isFlush ? classes.flush : classes.body}>{children}</div>}
      {footer && <footer className={classes.footer}>{footer}</footer>}
    </section>
  )
}
