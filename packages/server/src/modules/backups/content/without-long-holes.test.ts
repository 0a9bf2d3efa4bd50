import { expect, test } from 'vitest'
import { VolumeUnreadable } from '../../../drivers/runtime/runtime-errors.ts'
import { withoutLongHoles } from './without-long-holes.ts'

const zeros = Buffer.alloc(300_000)
const read = async (...chunks: Buffer[]) =>
  Buffer.concat(await Array.fromAsync(withoutLongHoles(asyncOf(chunks), 'data', 1_000_000)))
async function* asyncOf(chunks: Buffer[]) {
  yield* chunks
}

test('zeros pass unchanged up to a limit per hole; a longer hole is an error with the name of the volume', async () => {
  const used = Buffer.concat([zeros, Buffer.from('x'), zeros])
  expect((await read(zeros, zeros, zeros, used, zeros, zeros, zeros)).length).toBe(6 * zeros.length + used.length)
  await expect(read(zeros, zeros, zeros, zeros)).rejects.toThrow(VolumeUnreadable)
  await expect(read(zeros, zeros, zeros, zeros)).rejects.toThrow('The volume data')
})
