import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addLatency, bucketOf, latencyAt, latencyBuckets, packLatency } from './latency-histogram.ts'

const histogramOf = (values: readonly number[]) => {
  const counts = new Uint32Array(latencyBuckets)
  for (const value of values) counts[bucketOf(value)]! += 1
  return counts
}

test('a percentile of the histogram is within a fifth of the exact one', () => {
  const durations = fc.array(fc.double({ min: 0.3, max: 600_000, noNaN: true }), { minLength: 1, maxLength: 300 })
  fc.assert(
    fc.property(durations, fc.constantFrom(0.5, 0.99), (values, part) => {
      const sorted = values.toSorted((a, b) => a - b)
      const exact = sorted[Math.ceil(values.length * part) - 1]!
      const reported = latencyAt(histogramOf(values), part)!
      expect(reported / exact).toBeGreaterThan(0.83)
      expect(reported / exact).toBeLessThan(1.2)
    }),
  )
})

test('packed histograms add up to the histogram of all values', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 1e7, noNaN: true })), fc.array(fc.nat(1e6)), (one, other) => {
      const sum = new Float64Array(latencyBuckets)
      for (const part of [one, other]) addLatency(sum, packLatency(histogramOf(part)))
      expect([...sum]).toEqual([...histogramOf([...one, ...other])])
    }),
  )
})

test('without requests there is no value', () => {
  expect(latencyAt(new Uint32Array(latencyBuckets), 0.5)).toBeNull()
})

test('an invalid bucket is ignored', () => {
  const counts = new Float64Array(latencyBuckets)
  addLatency(counts, [-1, 5, latencyBuckets, 5, 3])
  expect(packLatency(counts)).toEqual([])
})
