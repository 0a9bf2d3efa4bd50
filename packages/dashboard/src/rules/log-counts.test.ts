import { expect, test } from 'vitest'
import { countLines } from './log-counts.ts'

test('lines are counted per interval of the range', () => {
  const line = (ms: number, stream = 'stdout') => ({ time: new Date(ms).toISOString(), stream })
  const lines = [line(999), line(1000), line(1499), line(1500, 'stderr'), line(2000), line(2001)]
  expect(countLines(lines, 1000, 2000, 2)).toEqual([
    { at: 1000, count: 2, errors: 0 },
    { at: 1500, count: 2, errors: 1 },
  ])
})
