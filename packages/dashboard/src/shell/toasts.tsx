import { Button, CloseButton } from '@mantine/core'
import { useEffect, useState, useSyncExternalStore } from 'react'
import { hideNotice, type Notice, noticeStore } from '../data/notices.tsx'
import classes from './toasts.module.css'

/** Notices in the corner of the page. A notice that is hovered or focused does not disappear. */
export function Toasts() {
  const notices = useSyncExternalStore(noticeStore.subscribe, noticeStore.get)
  return (
    <section className={classes.container} aria-label="Notices" aria-live="polite">
      {notices.map((notice) => (
        <Toast key={notice.id} notice={notice} />
      ))}
    </section>
  )
}

function Toast({ notice }: { notice: Notice }) {
  const { id, title, message, tone, action, durationMs } = notice
  const [isPaused, setPaused] = useState(false)
  useEffect(() => {
    if (isPaused) return
    const timer = setTimeout(() => hideNotice(id), durationMs)
    return () => clearTimeout(timer)
  }, [id, durationMs, isPaused])
  const act = () => {
    hideNotice(id)
    action?.act()
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: hovering only delays its removal
    <div
      className={classes.toast}
      data-tone={tone}
      onPointerEnter={() => setPaused(true)}
      onPointerLeave={() => setPaused(false)}
      onFocus={() => setPaused(true)}
      onBlur={() => setPaused(false)}
    >
      <div className={classes.text}>
        {title && <strong>{title}</strong>}
        <div className="wrap-anywhere">{message}</div>
      </div>
      {action && (
        <Button size="compact-sm" variant="default" onClick={act}>
          {action.label}
        </Button>
      )}
      <CloseButton size="sm" onClick={() => hideNotice(id)} aria-label="Dismiss" />
    </div>
  )
}
