import { afterAll, expect, test } from 'vitest'
import { edgeKinds, stopEdge } from './edge.ts'
import { fuzz, replay, seedsFolder } from './runner.ts'

afterAll(stopEdge)

test('what the fuzzing of the edge once found stays mended', async () => {
  expect((await replay(edgeKinds, seedsFolder('edge'))).findings).toEqual([])
})

test('a share of a minute finds nothing that the edge and Node read differently, and no path that gets around a rule', async () => {
  const { tried, finding } = await fuzz(edgeKinds, { seconds: 15 })
  expect(finding).toBeUndefined()
  for (const count of Object.values(tried)) expect(count).toBeGreaterThan(0)
})
