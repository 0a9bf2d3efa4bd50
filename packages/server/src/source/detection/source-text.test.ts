import { expect, test } from 'vitest'
import { stripComments, stripHashComments, stripTrailingCommas } from './source-text.ts'

test.each([
  ['a // b\nc', 'a \nc'],
  ['a /* b\n */ c', 'a  c'],
  ['"http://x" // y', '"http://x" '],
  ["'/*' + `// a` /* b */", "'/*' + `// a` "],
  ['"\\"//" // x', '"\\"//" '],
  ["it's // gone\nnext", "it's // gone\nnext"],
  ['a / b', 'a / b'],
  ['/* open', ''],
])('comments: %j', (text, expected) => expect(stripComments(text)).toBe(expected))

test.each([
  ['a # b\nc', 'a \nc'],
  ['"#" # b', '"#" '],
  ["gem 'a' # 'b'", "gem 'a' "],
])('hash comments: %j', (text, expected) => expect(stripHashComments(text)).toBe(expected))

test.each([
  ['[1, 2, ]', '[1, 2]'],
  ['{"a": 1,\n}', '{"a": 1}'],
  ['{"a": ",}"}', '{"a": ",}"}'],
  ['[,]', '[]'],
])('trailing commas: %j', (text, expected) => expect(stripTrailingCommas(text)).toBe(expected))
