import { expect, test } from 'vitest'
import { maxTries, pauseAfter } from './deliver.ts'

test('up to 8 attempts with growing pauses', () => {
  expect(maxTries).toBe(8)
  for (let round = 0; round < 50; round++) {
    const pauses = Array.from({ length: maxTries - 1 }, (_, at) => pauseAfter(at + 1))
    expect(pauses).toEqual(pauses.toSorted((left, right) => left - right))
    expect(new Set(pauses).size).toBe(7)
  }
})

test('Retry-After of the receiver is a minimum and never shortens the pause', () => {
  expect(pauseAfter(1, 600_000)).toBe(600_000)
  expect(pauseAfter(7, 1_000)).toBeGreaterThan(8 * 3_600_000 - 1)
})
