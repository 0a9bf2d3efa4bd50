import { expect, test } from 'vitest'
import { lastKnown, niceTop, sinceFirst, stretches } from './scale.ts'

test('the top of a chart is a round number that nothing rises above', () => {
  expect([0, 0.03, 1, 1.2, 7, 180, 2400].map(niceTop)).toEqual([1, 0.05, 1, 2, 10, 200, 2500])
})

test('a line breaks off where nothing was measured', () => {
  expect(stretches([null, 1, 2, null, null, 3])).toEqual([
    { from: 1, to: 2 },
    { from: 5, to: 5 },
  ])
  expect(lastKnown([1, 2, null])).toBe(2)
  expect(lastKnown([null])).toBeNull()
})

test('what lies before the first figure is left out, but for a few points', () => {
  const points = Array.from({ length: 60 }, (_, at) => at)
  expect(sinceFirst(points, (at) => at >= 20)).toEqual(points.slice(19))
  expect(sinceFirst(points, (at) => at >= 58)).toEqual(points.slice(48))
  expect(sinceFirst(points, () => false)).toEqual([])
})
