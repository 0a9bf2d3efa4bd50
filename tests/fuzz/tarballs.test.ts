import { expect, test } from 'vitest'
import { fuzz, replay, seedsFolder } from './runner.ts'
import { kinds } from './tarballs.ts'

test('what was once found stays mended', async () => {
  expect((await replay(kinds, seedsFolder('tarballs'))).findings).toEqual([])
})

test('nothing new is found in a few seconds', async () => {
  const { tried, finding } = await fuzz(kinds, { seconds: 8 })
  expect(finding).toBeUndefined()
  for (const { name } of kinds) expect(tried[name]).toBeGreaterThan(0)
})
