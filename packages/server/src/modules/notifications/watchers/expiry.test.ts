import { describe, expect, test } from 'vitest'
import { daysFrom, timeLeft, warningsDue } from './expiry.ts'

const now = new Date('2030-01-01T00:00:00Z')
const lifetime = (began: number, ends: number) => ({ from: daysFrom(now, -began), until: daysFrom(now, ends) })

describe('due warnings', () => {
  test.each([
    [60, 30, []],
    [60, 21, [21]],
    [60, 8, [21]],
    [60, 7, [7, 21]],
    [60, 1, [1, 7, 21]],
    [60, -1, [1, 7, 21]],
  ])('%s days old, %s days left: %j, the latest first', (began, ends, expected) => {
    expect(warningsDue([21, 7, 1], lifetime(began, ends), now)).toEqual(expected)
  })
  test('a warning time before the start is skipped', () => {
    expect(warningsDue([7, 1], lifetime(0, 3), now)).toEqual([])
    expect(warningsDue([7, 1], lifetime(2.5, 0.5), now)).toEqual([1])
    expect(warningsDue([7, 1], lifetime(0, 1), now)).toEqual([])
  })
})

test('the text shows the remaining time', () => {
  expect(['in 7 days', 'in 2 days', 'within a day', 'within a day']).toEqual(
    [7, 1.2, 1, 0.2].map((days) => timeLeft(daysFrom(now, days), now)),
  )
})
