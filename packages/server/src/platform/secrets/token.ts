import { hash, timingSafeEqual } from 'node:crypto'

/** What is stored of a token: it is long and random, so a plain hash cannot be guessed back. */
export function hashToken(value: string): string {
  return hash('sha256', value)
}

/** Takes the same time wherever the two differ, also in length. */
export function constantTimeEqual(left: string, right: string): boolean {
  return timingSafeEqual(hash('sha256', left, 'buffer'), hash('sha256', right, 'buffer'))
}
