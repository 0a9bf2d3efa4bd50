import { expect, test } from 'vitest'
import { bytesField, textField } from './build-session.ts'

test.each([0, 1, 127, 128, 300, 20_000])('a text of %i bytes is written and read as protobuf has it', (length) => {
  const text = 'x'.repeat(length)
  expect(textField(bytesField(1, Buffer.from(text)), 1)).toBe(text)
})

test('a field is found after others, and what is no such message holds none', () => {
  const message = Buffer.concat([bytesField(2, Buffer.from('other')), bytesField(1, Buffer.from('wanted'))])
  expect(textField(message, 1)).toBe('wanted')
  for (const wrong of [[], [8, 1], [255, 255, 255], [10, 255, 255, 255]]) expect(textField(Buffer.from(wrong), 1)).toBe('')
})
