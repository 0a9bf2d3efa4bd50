const units = ['B', 'kB', 'MB', 'GB', 'TB'] as const

/** Bytes in the largest unit that fits, such as `340 B`, `5.1 kB` or `12.0 MB`. */
export function byteSize(bytes: number): string {
  let value = bytes
  let unit = 0
  // 999.95 would be printed as 1000.0.
  while (value >= 999.95 && unit < units.length - 1) {
    value /= 1000
    unit += 1
  }
  return `${unit === 0 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`
}

/** A duration such as `3.4 s`, `48 s` or `2 min 5 s`. */
export function durationText(milliseconds: number): string {
  const seconds = Math.max(0, milliseconds) / 1000
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`
  const whole = Math.round(seconds)
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`
}
