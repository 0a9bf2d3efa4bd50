import { expect, test } from 'vitest'
import { changeText } from './restore-text.ts'

const change = { kind: 'volume', name: 'data', volume: 'data', action: 'replace' } as const

test('the text of a restore lists the changes, or says that the data is identical', () => {
  const files = { filesAdded: 1, filesChanged: 2, filesRemoved: 0 }
  expect(changeText({ ...change, currentBytes: 10, newBytes: 2000, ...files })).toBe(
    'is replaced: 10\u00a0B → 2.0\u00a0kB, 1 file added, 2 changed, 0 removed',
  )
  const none = { filesAdded: 0, filesChanged: 0, filesRemoved: 0 }
  expect(changeText({ ...change, currentBytes: 10, newBytes: 10, ...none })).toBe('is identical to the backup: 10\u00a0B')
})

test('the size of a database dump is not compared with the size of the database', () => {
  const unknown = { currentBytes: null, filesAdded: null, filesChanged: null, filesRemoved: null }
  expect(changeText({ ...change, kind: 'postgres', newBytes: 3000, ...unknown })).toBe('is replaced: 3.0\u00a0kB')
})
