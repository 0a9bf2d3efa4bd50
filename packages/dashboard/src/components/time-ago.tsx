import { useNow } from '../data/now.ts'
import { exactTime, relativeTime } from '../text/times.ts'

/** A time by its distance, the exact one on hover. */
export function TimeAgo({ time }: { time: string }) {
  const now = useNow()
  return (
    <time dateTime={time} title={exactTime(time)}>
      {relativeTime(time, now)}
    </time>
  )
}
