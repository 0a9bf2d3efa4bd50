import { expect, test } from 'vitest'
import { splitWords } from './command-words.ts'

test.each([
  ['npm run start', ['npm', 'run', 'start']],
  ['  a\tb\n c ', ['a', 'b', 'c']],
  ['', []],
  [`echo 'a b' "c d"`, ['echo', 'a b', 'c d']],
  [`a''b "" ''`, ['ab', '', '']],
  [`'a"b' "c'd"`, ['a"b', "c'd"]],
  ['a\\ b \\"', ['a b', '"']],
  [`"a\\"b" "c\\d" '\\'`, ['a"b', 'c\\d', '\\']],
  ['$HOME `ls` && x', ['$HOME', '`ls`', '&&', 'x']],
])('%s', (line, words) => expect(splitWords(line)).toEqual(words))

test.each([`"open`, `'open`, 'end\\'])('%s has an unclosed quote or escape', (line) => expect(splitWords(line)).toBeNull())
