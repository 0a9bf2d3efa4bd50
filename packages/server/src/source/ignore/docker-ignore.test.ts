import { expect, test } from 'vitest'
import { dockerIgnore } from './docker-ignore.ts'

test.each<[string, string, boolean]>([
  ['node_modules', 'node_modules/a/b.js', true],
  ['node_modules', 'web/node_modules/a.js', false],
  ['**/node_modules', 'web/node_modules/a.js', true],
  ['*.md', 'README.md', true],
  ['*.md', 'docs/README.md', false],
  ['**/*.md', 'docs/README.md', true],
  ['/secret', 'secret', true],
  ['a?c', 'abc', true],
  ['[ab].txt', 'b.txt', true],
  ['[ab].txt', 'c.txt', false],
  ['# a comment', '# a comment', false],
  ['*\n!keep.txt', 'keep.txt', false],
  ['*\n!keep.txt', 'other.txt', true],
  ['*.txt\n!keep.txt\nkeep.txt', 'keep.txt', true],
  ['a.b', 'axb', false],
])('%j and %s: %s', (text, path, isIgnored) => {
  expect(dockerIgnore(text)(path, false)).toBe(isIgnored)
})

test('an ignored folder is searched if a later pattern may include files in it', () => {
  expect(dockerIgnore('dist\n!dist/keep')('dist', true)).toBe('look-inside')
  expect(dockerIgnore('dist')('dist', true)).toBe(true)
})
