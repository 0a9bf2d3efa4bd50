import { statusWord, toneOf } from '../words/status-words.ts'
import classes from './status-badge.module.css'

/** A dot and a word; the dot moves while something is under way. */
export function StatusBadge({ status, title }: { status: string; title?: string | null }) {
  return (
    <span className={classes.badge} data-tone={toneOf(status)} title={title ?? undefined}>
      <span className={classes.dot} aria-hidden />
      {statusWord(status)}
    </span>
  )
}
