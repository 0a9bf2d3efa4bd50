import { Button, CloseButton } from '@mantine/core'
import { useEffect, useState, useSyncExternalStore } from 'react'
import { hideNotice, type Notice, noticeStore } from '../data/notices.tsx'
import classes from './toasts.module.css'

/** Notices in the corner; one that is pointed at or holds the focus stays. */
export function Toasts() {
  const notices = useSyncExternalStore(noticeStore.subscribe, noticeStore.get)
  return (
    <section className={classes.place} aria-label="Notices" aria-live="polite">
      {notices.map((notice) => (
        <Toast key={notice.id} notice={notice} />
      ))}
    </section>
  )
}

function Toast({ notice }: { notice: Notice }) {
  const { id, title, message, tone, action, forMs } = notice
  const [isHeld, setHeld] = useState(false)
  useEffect(() => {
    if (isHeld) return
    const timer = setTimeout(() => hideNotice(id), forMs)
    return () => clearTimeout(timer)
  }, [id, forMs, isHeld])
  const act = () => {
    hideNotice(id)
    action?.act()
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: pointing at it only keeps it longer
    <div
      className={classes.toast}
      data-tone={tone}
      onPointerEnter={() => setHeld(true)}
      onPointerLeave={() => setHeld(false)}
      onFocus={() => setHeld(true)}
      onBlur={() => setHeld(false)}
    >
      <div className={classes.words}>
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
