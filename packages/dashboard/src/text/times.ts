const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['week', 604_800],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
]

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'long' })

/** `3 minutes ago`, `in 2 days`, `just now`. */
export function relativeTime(time: string, now: number): string {
  const seconds = (Date.parse(time) - now) / 1000
  const size = Math.abs(seconds)
  const unit = units.find(([, length]) => size >= length)
  if (!unit) return size < 10 ? 'just now' : relative.format(Math.round(seconds), 'second')
  return relative.format(Math.round(seconds / unit[1]), unit[0])
}

// Created once: creating a formatter is slow, and a list formats a time in each row.
const exact = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'long' })
const clock = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium', hour12: false })

export const exactTime = (time: string): string => exact.format(new Date(time))

export const clockTime = (time: string): string => clock.format(new Date(time))

/** `45 s`, `2 min 5 s`, `1 h 3 min`. */
export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`
  const seconds = Math.round(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return seconds % 60 ? `${minutes} min ${seconds % 60} s` : `${minutes} min`
  return minutes % 60 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${Math.floor(minutes / 60)} h`
}

/** `0:07`, `12:05`, `1:02:05`: the clock of running work, whose width does not jump. */
export function clockText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  const two = (value: number) => String(value).padStart(2, '0')
  const minutes = Math.floor(seconds / 60)
  const rest = two(seconds % 60)
  return minutes < 60 ? `${minutes}:${rest}` : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${rest}`
}

export const elapsedMs = (from: string | null, to: string | null, now: number): number | null =>
  from ? (to ? Date.parse(to) : now) - Date.parse(from) : null
