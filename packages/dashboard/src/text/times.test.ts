import { expect, test } from 'vitest'
import { clockText, durationText, relativeTime } from './times.ts'

const now = Date.parse('2026-05-01T12:00:00Z')

test('a time is shown relative to now', () => {
  expect(relativeTime('2026-05-01T11:59:57Z', now)).toBe('just now')
  expect(relativeTime('2026-05-01T11:57:00Z', now)).toBe('3 minutes ago')
  expect(relativeTime('2026-04-30T12:00:00Z', now)).toBe('yesterday')
  expect(relativeTime('2026-05-01T14:00:00Z', now)).toBe('in 2 hours')
})

test('a duration is shown in at most two units', () => {
  expect(durationText(420)).toBe('420 ms')
  expect(durationText(45_000)).toBe('45 s')
  expect(durationText(125_000)).toBe('2 min 5 s')
  expect(durationText(3_780_000)).toBe('1 h 3 min')
})

test('a running clock shows whole seconds', () => {
  expect([-5, 7900, 725_000, 3_725_000].map(clockText)).toEqual(['0:00', '0:07', '12:05', '1:02:05'])
})
