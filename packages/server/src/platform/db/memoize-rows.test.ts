import { expect, test, vi } from 'vitest'
import { memoizeByRows } from './memoize-rows.ts'

const row = (value: string) => Object.freeze({ value })

test('a result of the same cached rows is computed once and frozen', () => {
  const make = vi.fn((left: { value: string }, right: { value: string }) => ({ text: left.value + right.value }))
  const made = memoizeByRows(make)
  const [a, b] = [row('a'), row('b')]
  expect(made(a, b)).toBe(made(a, b))
  expect(make).toHaveBeenCalledTimes(1)
  expect(() => Object.assign(made(a, b), { text: '' })).toThrow(TypeError)
})

test('another row in any position computes a new result', () => {
  const made = memoizeByRows((left: { value: string }, right: { value: string }) => ({ text: left.value + right.value }))
  const a = row('a')
  expect([made(a, row('b')).text, made(a, row('c')).text, made(row('d'), a).text]).toEqual(['ab', 'ac', 'da'])
})

test('a result of an unfrozen row is computed each time', () => {
  const made = memoizeByRows((only: { value: string }) => ({ text: only.value }))
  const changing = { value: 'a' }
  const before = made(changing)
  changing.value = 'b'
  expect([before.text, made(changing).text]).toEqual(['a', 'b'])
})
