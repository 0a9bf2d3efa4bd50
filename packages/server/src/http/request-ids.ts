import { randomBytes } from 'node:crypto'

/** Unique among all processes by its first half, and within this one by the second; a random one each time costs more than routing. */
export function createRequestIds(): () => string {
  const process = randomBytes(12).toString('base64url')
  let count = 0
  return () => `${process}-${(++count).toString(36)}`
}
