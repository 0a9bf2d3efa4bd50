import { statusLabel, type Tone, toneOf } from '../text/status-text.ts'
import classes from './status-badge.module.css'

interface Props {
  status: string
  title?: string | null
  /** Overrides the tone: a running step is busy, but a running container is good. */
  tone?: Tone
}

/** A dot and a label; the dot is animated while the status is busy. */
export function StatusBadge({ status, title, tone = toneOf(status) }: Props) {
  return (
    <span className={classes.badge} data-tone={tone} title={title ?? undefined}>
      <span className={classes.dot} aria-hidden />
      <span className={classes.word}>{statusLabel(status)}</span>
    </span>
  )
}
