import { expect, test } from 'vitest'
import { RestoreDiskLimit } from './disk-bound.ts'

const mb = 1024 * 1024
const pieces = async function* (count: number) {
  for (let at = 0; at < count; at += 1) yield Buffer.alloc(mb)
}
async function written(bound: RestoreDiskLimit, count: number): Promise<number> {
  let bytes = 0
  for await (const chunk of bound.limitBytes(pieces(count))) bytes += chunk.length
  return bytes / mb
}

test('content that is larger than its index entry stops at the limit', async () => {
  const bound = new RestoreDiskLimit(4, mb)
  bound.requireFits(3 * mb)
  expect(await written(bound, 2)).toBe(2)
  await expect(written(bound, 2)).rejects.toMatchObject({ code: 'disk_limit', message: expect.stringContaining('4 MB') })
})

test('content larger than the free limit is refused before it is written', () => {
  expect(() => new RestoreDiskLimit(4, mb).requireFits(3 * mb + 1)).toThrow('4 MB')
})
