import { expect, test } from 'vitest'
import { axisMaximum, axisTexts, fromFirstMeasurement, segmentsOf, summaryOf } from './scale.ts'

test('the top of a chart is a round number that nothing rises above', () => {
  expect([0, 0.03, 1, 1.2, 7, 180, 2400].map(axisMaximum)).toEqual([1, 0.04, 1, 2, 8, 200, 4000])
})

test('the middle of an axis is exact', () => {
  const whole = (value: number) => String(Math.round(value))
  for (const highest of [2, 3, 5, 7, 9, 24, 47, 61])
    expect(Number(axisTexts(axisMaximum(highest), whole)[1]) * 2).toBe(axisMaximum(highest))
})

test('an axis never shows the same text twice', () => {
  const whole = (value: number) => String(Math.round(value))
  expect(axisTexts(20, whole)).toEqual(['20', '10', '0'])
  expect(axisTexts(1, whole)).toEqual(['1', '', '0'])
})

test('a line is interrupted where no values were measured', () => {
  expect(segmentsOf([null, 1, 2, null, null, 3])).toEqual([
    { from: 1, to: 2 },
    { from: 5, to: 5 },
  ])
})

test('the chart begins one point before the first value, and keeps at least 12 points', () => {
  const points = Array.from({ length: 60 }, (_, at) => at)
  expect(fromFirstMeasurement(points, (at) => at >= 20)).toEqual(points.slice(19))
  expect(fromFirstMeasurement(points, (at) => at >= 58)).toEqual(points.slice(48))
  expect(fromFirstMeasurement(points, () => false)).toEqual([])
})

test('a range is summarized as total, average or maximum of its measured points', () => {
  const values = [null, 1, 3, null, 8]
  expect((['total', 'average', 'maximum'] as const).map((summary) => summaryOf(values, summary))).toEqual([12, 4, 8])
  expect(summaryOf([null], 'total')).toBeNull()
})
