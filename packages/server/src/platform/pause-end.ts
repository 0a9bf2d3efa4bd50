/**
 * Returns the monotonic time until which to pause after work that began at `startedAt`, so that the work takes at most `share` of the
 * time.
 */
export function pauseEnd(startedAt: number, share: number): number {
  const now = performance.now()
  return now + (now - startedAt) * (1 / share - 1)
}
