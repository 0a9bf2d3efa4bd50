import { useNow } from '../data/now.ts'
import { exactTime, relativeTime } from '../text/times.ts'

/** A relative time; the exact time on hover. */
export function TimeAgo({ time }: { time: string }) {
  const now = useNow()
  return (
    <time dateTime={time} title={exactTime(time)}>
      {relativeTime(time, now)}
    </time>
  )
}
