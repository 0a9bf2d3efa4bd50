import { Anchor, Text, Title } from '@mantine/core'
import { type ReactNode, useEffect } from 'react'
import { useHealth } from '../data/session.ts'
import classes from './front-page.module.css'

/** The frame of pages for visitors who have not signed in. */
export function FrontPage({ title, children }: { title: string; children: ReactNode }) {
  const health = useHealth()
  useEffect(() => {
    document.title = `${title} · Berth`
  }, [title])
  return (
    <div className={classes.front}>
      <header className={classes.brand}>
        <img src="/berth.svg" width={36} height={36} alt="" />
        <span>Berth</span>
      </header>
      <main className={classes.card}>
        <Title order={1} size="h4" mb="md">
          {title}
        </Title>
        {children}
      </main>
      <Text c="dimmed" size="sm" ta="center" component="footer">
        {health.data ? `Version ${health.data.version}, ${health.data.mode}` : ' '} ·{' '}
        <Anchor href="/api/docs" size="sm" underline="always">
          API reference
        </Anchor>
      </Text>
    </div>
  )
}
