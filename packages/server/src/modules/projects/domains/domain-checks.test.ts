import { expect, test } from 'vitest'
import { pauseAfter } from './domain-checks.ts'

test('the next check is due after half of the claim’s age, at least 30 s and at most 6 h, in whole milliseconds', () => {
  expect([0, 60_000, 100_001, 1e9].map(pauseAfter)).toEqual([30_000, 30_000, 50_000, 6 * 60 * 60_000])
})
