import { expect, test } from 'vitest'
import { lastKnown, niceTop, stretches } from './scale.ts'

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
