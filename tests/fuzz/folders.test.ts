import { expect, test } from 'vitest'
import { kinds } from './folders.ts'
import { fuzz, replay, seedsFolder } from './runner.ts'

test('what was once found stays mended', async () => {
  expect((await replay(kinds, seedsFolder('folders'))).findings).toEqual([])
})

test('nothing new is found in a few seconds', async () => {
  const { tried, finding } = await fuzz(kinds, { seconds: 12 })
  expect(finding).toBeUndefined()
  for (const { name } of kinds) expect(tried[name]).toBeGreaterThan(0)
})
