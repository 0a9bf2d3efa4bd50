import { Text, Title } from '@mantine/core'
import { type ReactNode, useEffect } from 'react'
import classes from './page.module.css'

interface Props {
  title: string
  /** Shown above the title, for example the project of the page. */
  eyebrow?: ReactNode
  description?: ReactNode
  /** Buttons of the whole page. */
  actions?: ReactNode
  /** The title of the browser tab, if the page's title is not specific enough. */
  tabTitle?: string
  children: ReactNode
}

/** The frame of a page: heading, description, actions and content. */
export function Page({ title, eyebrow, description, actions, tabTitle, children }: Props) {
  useEffect(() => {
    document.title = `${tabTitle ?? title} · Berth`
  }, [title, tabTitle])
  return (
    <div className={classes.page}>
      <header className={classes.header}>
        <div className={classes.heading}>
          {eyebrow && <div className={classes.eyebrow}>{eyebrow}</div>}
          <Title order={1} size="h2" className="wrap-anywhere">
            {title}
          </Title>
          {description && (
            <Text c="dimmed" mt={4} component="div">
              {description}
            </Text>
          )}
        </div>
        {actions && <div className={classes.actions}>{actions}</div>}
      </header>
      {children}
    </div>
  )
}
