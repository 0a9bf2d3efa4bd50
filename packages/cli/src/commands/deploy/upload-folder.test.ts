import { limits } from '@berth/contract/limits'
import { expect, test } from 'vitest'
import { withinLimit } from './upload-folder.ts'

/** Yields the given number of bytes without allocating them. */
async function* packed(...lengths: number[]): AsyncGenerator<Uint8Array> {
  for (const length of lengths) yield { length } as Uint8Array
}

const passed = async (...lengths: number[]) => {
  let bytes = 0
  for await (const { length } of withinLimit(packed(...lengths))) bytes += length
  return bytes
}

test('a folder that is as large as an instance takes is sent', async () => {
  expect(await passed(limits.tarballBytes - 1, 1)).toBe(limits.tarballBytes)
})

test('a folder over the limit is refused before anything is sent, with the remedy', async () => {
  await expect(passed(limits.tarballBytes, 1)).rejects.toThrow(/is larger than .* MB packed\. Exclude .* \.gitignore/)
})
