import { VolumeUnreadable } from '../../../drivers/runtime/runtime-errors.ts'

const gibibyte = 1024 ** 3
/**
 * Longest run of zeros. Real data does not have that many; reading them at some hundred MB/s occupies a backup slot for
 * minutes.
 */
const maxZeros = 64 * gibibyte
const zeroBlock = Buffer.alloc(256 * 1024)

/**
 * Fails on a sparse file with a very long hole. An engine streams holes as zeros, and a file with a terabyte of holes takes no
 * disk space to create.
 */
export async function* withoutLongHoles(
  tar: AsyncIterable<Uint8Array>,
  volume: string,
  max = maxZeros,
): AsyncGenerator<Uint8Array> {
  let zeros = 0
  for await (const chunk of tar) {
    zeros = isAllZeros(chunk) ? zeros + chunk.length : 0
    if (zeros > max)
      throw new VolumeUnreadable(
        `The volume ${volume} contains a sparse file with a hole larger than ${Math.floor(max / gibibyte)} GiB (a disk image or a memory-mapped database). Add it to payload.exclude of the policy, or shrink it.`,
      )
    yield chunk
  }
}

function isAllZeros(chunk: Uint8Array): boolean {
  if (chunk[0] !== 0 || chunk[chunk.length - 1] !== 0) return false
  for (let offset = 0; offset < chunk.length; offset += zeroBlock.length) {
    const piece = chunk.subarray(offset, offset + zeroBlock.length)
    if (!zeroBlock.subarray(0, piece.length).equals(piece)) return false
  }
  return true
}
