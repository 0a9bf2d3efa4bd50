import { expect, test } from 'vitest'
import { Failure } from '../../../platform/failure.ts'
import { copyFiles } from './copy-files.ts'
import type { Sides } from './sides.ts'

test('a refused file aborts the whole copy at once, including files in transit', async () => {
  const files = ['refused', 'slow', 'slower'].map((name) => ({ name, sizeBytes: 1, sha256: '' }))
  const retryLimits = { giveUpMs: 500, pollMs: 5 }
  const runningTransfer = Promise.withResolvers<void>()
  let begun = 0
  const write: Sides['target']['write'] = async ({ name }, _, signal) => {
    begun += 1
    if (begun === files.length) runningTransfer.resolve()
    await runningTransfer.promise
    if (name === 'refused') throw new Failure('conflict', { message: 'The import is aborted' })
    // As the client of the cloud does with a connection that was ended.
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve))
    throw new Failure('cloud_unreachable', { message: 'The connection was ended' })
  }
  const sides = { source: { read: async () => [] }, target: { write } } as unknown as Sides
  const copied = copyFiles(files, [], sides, retryLimits, new AbortController().signal, () => undefined)
  await expect(copied).rejects.toMatchObject({ code: 'conflict', message: 'The import is aborted' })
  // Each file was sent once, and none again after the refusal.
  expect(begun).toBe(files.length)
})
