import { expect, test } from 'vitest'
import { roundRobin } from './round-robin.ts'

test.each([
  [[], []],
  [
    ['a1', 'a2', 'a3'],
    ['a1', 'a2', 'a3'],
  ],
  [
    ['a1', 'a2', 'a3', 'b1', 'c1', 'b2'],
    ['a1', 'b1', 'c1', 'a2', 'b2', 'a3'],
  ],
])('%j are ordered as %j', (items, expected) => {
  expect(roundRobin(items, (item) => item[0]!)).toEqual(expected)
})
