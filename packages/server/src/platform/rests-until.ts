/** Until when to rest after what began then, so that it takes no more than this part of the time. By the monotonic clock. */
export function restsUntil(began: number, share: number): number {
  const now = performance.now()
  return now + (now - began) * (1 / share - 1)
}
