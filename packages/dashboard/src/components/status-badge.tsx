import { statusLabel, type Tone, toneOf } from '../text/status-text.ts'
import classes from './status-badge.module.css'

interface Props {
  status: string
  title?: string | null
  /** Where the same word means something else: a step that runs is under way, a container that runs is well. */
  tone?: Tone
}

/** A dot and a word; the dot moves while something is under way. */
export function StatusBadge({ status, title, tone = toneOf(status) }: Props) {
  return (
    <span className={classes.badge} data-tone={tone} title={title ?? undefined}>
      <span className={classes.dot} aria-hidden />
      <span className={classes.word}>{statusLabel(status)}</span>
    </span>
  )
}
