import { array, assert, constantFrom, property, string } from 'fast-check'
import { expect, test } from 'vitest'
import { textSearch } from './text-search.ts'

const blockOf = (lines: readonly string[]) => Buffer.from(lines.map((line) => `${line}\n`).join(''))

test('is null without a text', () => {
  expect(textSearch([], undefined)).toBeNull()
})

test('a line that contains the text in any case is always found, in order', () => {
  // Kelvin sign, dotted and dotless I, long s, sharp s and sigma change between cases; the rest is special in an expression.
  const text = string({ unit: constantFrom(...'aKkIiSs\u212a\u0130\u0131\u017f\u1e9eΣσé.*+?(|\\$^[-/ "'), maxLength: 12 })
  assert(
    property(array(text, { maxLength: 40 }), text, (lines, q) => {
      if (q === '') return
      const found = textSearch([], q)!(blockOf(lines))
      const isFound = (line: string) => line.toLowerCase().includes(q.toLowerCase())
      expect(found.filter(isFound)).toEqual(lines.filter(isFound))
      expect(found.length).toBeLessThanOrEqual(lines.length)
    }),
    { numRuns: 500 },
  )
})

test('matches at every position of a large block are found, and few other lines are returned', () => {
  const lines = Array.from({ length: 5_000 }, (_, at) => `line ${at} ${'x'.repeat(at % 61)}${at % 100 === 0 ? ' NeeDle.' : ''}`)
  expect(textSearch([], 'needle.')!(blockOf(lines))).toEqual(lines.filter((_, at) => at % 100 === 0))
})

test('exact texts match case-sensitively, and a block without one of them has no match', () => {
  const block = blockOf(['a "one" b', 'A "ONE" c', 'a "two" d'])
  expect(textSearch(['"one"'], undefined)!(block)).toEqual(['a "one" b'])
  expect(textSearch(['"one"', '"three"'], 'a')!(block)).toEqual([])
  expect(textSearch(['"two"'], 'A "')!(block)).toContain('a "two" d')
})

test('a last line without a newline is searched', () => {
  expect(textSearch([], 'end')!(Buffer.from('start\nthe END'))).toEqual(['the END'])
})
