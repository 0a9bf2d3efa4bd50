import { hash, timingSafeEqual } from 'node:crypto'

/** The stored form of a token: tokens are long and random, so an unsalted hash cannot be reversed by guessing. */
export function hashToken(value: string): string {
  return hash('sha256', value)
}

/** Takes the same time wherever the two values differ, also in length. */
export function constantTimeEqual(left: string, right: string): boolean {
  return timingSafeEqual(hash('sha256', left, 'buffer'), hash('sha256', right, 'buffer'))
}
