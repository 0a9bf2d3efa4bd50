import { expect, test } from 'vitest'
import { bytesField, fieldsOf, numberField, numberIn, textIn } from './protobuf.ts'

test.each([0, 1, 127, 128, 300, 20_000])('a text of %i bytes is unchanged when written and read', (length) => {
  const text = 'x'.repeat(length)
  expect(textIn(bytesField(1, text), 1)).toBe(text)
})

test('a field is found after others, and is empty if absent or truncated', () => {
  const message = Buffer.concat([bytesField(2, 'other'), numberField(3, 1_700_000), bytesField(1, 'wanted')])
  expect([textIn(message, 1), numberIn(message, 3), numberIn(message, 4)]).toEqual(['wanted', 1_700_000, 0])
  for (const wrong of [[], [8, 1], [255, 255, 255], [10, 255, 255, 255]]) expect(textIn(Buffer.from(wrong), 1)).toBe('')
  expect(fieldsOf(message.subarray(0, message.length - 1))).toHaveLength(2)
})

test('a time in nanoseconds is encoded exactly', () => {
  expect([...numberField(6, 1_700_000_000_123_456_789n)]).toEqual([48, 149, 154, 151, 236, 227, 159, 231, 203, 23])
})
