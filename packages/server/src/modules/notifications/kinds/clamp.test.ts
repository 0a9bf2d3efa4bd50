import { expect, test } from 'vitest'
import { clamp, oneLine } from './clamp.ts'

test('text within the limit stays as it is, the limit included', () => {
  expect(clamp('12345', 5)).toBe('12345')
  expect(clamp('', 5)).toBe('')
})

test('longer text is cut to the limit and ends with an ellipsis', () => {
  expect(clamp('123456', 5)).toBe('1234…')
  expect(clamp('x'.repeat(10_000), 150)).toHaveLength(150)
})

test('no character is split', () => {
  expect(clamp('🚢🚢🚢', 5)).toBe('🚢🚢…')
  expect(clamp('🚢🚢🚢', 4)).toBe('🚢…')
})

test('the limit applies to the escaped text, and no escape sequence is split', () => {
  const encode = (character: string) => (character === '&' ? '&amp;' : character)
  expect(clamp('&&&', 15, { encode })).toBe('&amp;&amp;&amp;')
  expect(clamp('&&&', 14, { encode })).toBe('&amp;&amp;…')
  expect(clamp('&&&', 10, { encode })).toBe('&amp;…')
})

test('a limit in bytes counts bytes', () => {
  const cut = clamp('ü'.repeat(100), 50, { measure: Buffer.byteLength })
  expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(50)
  expect(cut).toBe(`${'ü'.repeat(23)}…`)
})

test('text on one line', () => expect(oneLine(' a\r\n\tb\0c\u2028d ')).toBe('a b c d'))
