import { expect, test } from 'vitest'
import { trendOf } from './trend.ts'

/** Samples every 10 s for an hour. */
const hour = (value: (at: number) => number) =>
  Array.from({ length: 360 }, (_, at) => ({ atSeconds: at * 10, value: value(at * 10) }))
const noise = (at: number) => ((at * 7919) % 101) / 101 - 0.5
const tolerance = { part: 0.1, atLeast: 5 }

test.each<[string, (at: number) => number, 'flat' | 'grows']>([
  ['a constant', () => 100, 'flat'],
  ['noise', (at) => 100 + 40 * noise(at), 'flat'],
  ['a rise in the first third only', (at) => 100 + Math.min(at, 1200), 'flat'],
  ['a rise that ends too late', (at) => 100 + Math.min(at, 2400), 'grows'],
  ['a slow rise under noise', (at) => 100 + at / 60 + 10 * noise(at), 'grows'],
  ['a rise within the tolerance', (at) => 100 + at / 720, 'flat'],
  ['a rise below the least that counts', (at) => 1 + at / 1000, 'flat'],
  ['a fall', (at) => 1000 - at / 10, 'flat'],
])('%s is %s', (_, value, verdict) => {
  expect(trendOf(hour(value), tolerance).verdict).toBe(verdict)
})

test('the slope is reported per hour; the growth is measured over the last two thirds of the samples', () => {
  const { slopePerHour, growth, mean } = trendOf(
    hour((at) => at / 36),
    tolerance,
  )
  expect(slopePerHour).toBeCloseTo(100)
  expect(growth).toBeCloseTo(66.4, 0)
  expect(mean).toBeCloseTo(66.5, 0)
})

test('no samples and one sample are flat', () => {
  expect(trendOf([], tolerance).verdict).toBe('flat')
  expect(trendOf([{ atSeconds: 0, value: 9 }], tolerance).verdict).toBe('flat')
})
