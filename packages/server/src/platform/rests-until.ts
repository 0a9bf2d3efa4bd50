/**
 * Returns the monotonic time until which to pause after work that began at `began`, so that the work takes at most `share` of the
 * time.
 */
export function restsUntil(began: number, share: number): number {
  const now = performance.now()
  return now + (now - began) * (1 / share - 1)
}
