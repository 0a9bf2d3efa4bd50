import { useRouter } from '@tanstack/react-router'
import type { MouseEvent, ReactNode } from 'react'

interface Props {
  to: string
  className?: string
  title?: string
  children: ReactNode
}

/** A link inside the dashboard for long lists: it does not subscribe to the router, so that hundreds render fast. */
export function PlainLink({ to, className, title, children }: Props) {
  const router = useRouter()
  const navigate = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    void router.navigate({ to })
  }
  return (
    <a
      href={to}
      className={className}
      title={title}
      onClick={navigate}
      onPointerEnter={() => void router.preloadRoute({ to }).catch(() => {})}
    >
      {children}
    </a>
  )
}
