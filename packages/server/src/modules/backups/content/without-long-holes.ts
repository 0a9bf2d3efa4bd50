import { VolumeUnreadable } from '../../../drivers/runtime/runtime.ts'

const gibibyte = 1024 ** 3
/** Zeros in one piece. Nobody has that many on purpose; at some hundred MB a second they hold a place of the cap for minutes. */
const mostZeros = 64 * gibibyte
const nothing = Buffer.alloc(256 * 1024)

/** An engine hands out a file with holes as the zeros that it seems to hold, and a terabyte of them costs nothing to make. */
export async function* withoutLongHoles(
  tar: AsyncIterable<Uint8Array>,
  volume: string,
  most = mostZeros,
): AsyncGenerator<Uint8Array> {
  let zeros = 0
  for await (const chunk of tar) {
    zeros = isNothing(chunk) ? zeros + chunk.length : 0
    if (zeros > most)
      throw new VolumeUnreadable(
        `The volume ${volume} holds a file of which more than ${Math.floor(most / gibibyte)} GiB in one piece are empty (a disk image, or a database's map): name it in the policy's payload.exclude, or make it shorter`,
      )
    yield chunk
  }
}

function isNothing(chunk: Uint8Array): boolean {
  if (chunk[0] !== 0 || chunk[chunk.length - 1] !== 0) return false
  for (let at = 0; at < chunk.length; at += nothing.length) {
    const piece = chunk.subarray(at, at + nothing.length)
    if (!nothing.subarray(0, piece.length).equals(piece)) return false
  }
  return true
}
