import { type FileHandle, open } from 'node:fs/promises'
import { promisify } from 'node:util'
import { constants, zstdCompress, zstdDecompress } from 'node:zlib'
import { factsOfLine } from './log-entry.ts'
import { plainBlocks } from './plain-segment.ts'
import { type Block, readRange } from './segment.ts'

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)

/** Positions and contents of the blocks of a packed file, so that a read opens few of them. */
export interface PackedIndex {
  blocks: PackedBlock[]
  /** Deployments that have entries here; null when there are too many to list. */
  deployments: string[] | null
}

interface PackedBlock {
  position: number
  bytes: number
  plainBytes: number
  firstId: number
  lastId: number
  earliest: number
  latest: number
}

const maxListedDeployments = 200
/** Blocks read at a time. */
const maxGroup = 8
/** Bounds of the decompression buffer: the index of a damaged file can state any block size. */
const minChunkBytes = 1024
const maxChunkBytes = 4 * 1024 * 1024

/**
 * Writes a packed file: one zstd frame per block, then the index in a skippable frame, so that `zstd -d` prints the lines. The
 * file is complete and synced when this returns.
 */
export async function packFile(from: string, to: string): Promise<{ index: PackedIndex; bytes: number }> {
  const source = await open(from, 'r')
  const target = await open(to, 'w', 0o600)
  try {
    const { size } = await source.stat()
    const blocks: PackedBlock[] = []
    const deployments = new Set<string>()
    let position = 0
    for await (const block of plainBlocks(source, 0, size)) {
      const facts = factsOf(block.toString('utf8'), deployments)
      if (!facts) continue
      const frame = await compress(block, { params: { [constants.ZSTD_c_checksumFlag]: 1 } })
      await target.writeFile(frame)
      blocks.push({ position, bytes: frame.length, plainBytes: block.length, ...facts })
      position += frame.length
    }
    const index = { blocks, deployments: deployments.size <= maxListedDeployments ? [...deployments] : null }
    const frame = indexFrame(index)
    await target.writeFile(frame)
    await target.sync()
    return { index, bytes: position + frame.length }
  } finally {
    await source.close()
    await target.close()
  }
}

export async function readIndex(file: FileHandle): Promise<PackedIndex> {
  const { size } = await file.stat()
  const end = await readRange(file, Math.max(0, size - trailerBytes), trailerBytes)
  if (end.subarray(4).toString('latin1') !== mark) throw new Error('A packed log file has no index')
  const length = end.readUInt32LE(0)
  const json = await readRange(file, size - trailerBytes - length, length)
  return JSON.parse(json.toString('utf8')) as PackedIndex
}

/** Reads neighbouring blocks with one request. A damaged one is an error in its place. */
async function readGroup(file: FileHandle, group: readonly PackedBlock[]): Promise<(Block | Error)[]> {
  const [first, last] = [group[0]!, group.at(-1)!]
  const frames = await readRange(file, first.position, last.position + last.bytes - first.position)
  return Promise.all(
    group.map(({ position, bytes, plainBytes }) => {
      const frame = frames.subarray(position - first.position, position - first.position + bytes)
      // With room for the whole block, it is decompressed in one turn of the thread pool.
      const chunkSize = Math.min(Math.max(plainBytes, minChunkBytes), maxChunkBytes) + 1
      return decompress(frame, { chunkSize }).catch((error: Error) => error)
    }),
  )
}

/**
 * Blocks in the given order; an error in place of a damaged one. Most readers need only the first blocks, so it reads one, then
 * more and more at a time, and reads ahead while the caller searches.
 */
export async function* readBlocks(file: FileHandle, blocks: readonly PackedBlock[]): AsyncGenerator<Block | Error> {
  let size = 1
  let at = 0
  const next = () => {
    const group = blocks.slice(at, at + size)
    at += group.length
    size = Math.min(size * 2, maxGroup)
    const inFileOrder = [...group].sort((left, right) => left.position - right.position)
    const isReversed = inFileOrder[0] !== group[0]
    const read = readGroup(file, inFileOrder).catch((error: Error) => [error])
    return read.then((found) => (isReversed ? found.reverse() : found))
  }
  let ahead: Promise<(Block | Error)[]> | null = null
  try {
    while (ahead || at < blocks.length) {
      const isFirst = at === 0
      const found: (Block | Error)[] = await (ahead ?? next())
      ahead = isFirst || at >= blocks.length ? null : next()
      yield* found
    }
  } finally {
    // The read ahead must end first: the caller closes the file next.
    await ahead
  }
}

/** The last frame: magic and length of a skippable frame, the index as JSON, its length, and the mark. It is read from the end. */
const skippable = 0x184d2a50
const mark = 'BERTHLOG'
const trailerBytes = 4 + mark.length

function indexFrame(index: PackedIndex): Buffer {
  const json = Buffer.from(JSON.stringify(index))
  const head = Buffer.alloc(8)
  head.writeUInt32LE(skippable, 0)
  head.writeUInt32LE(json.length + trailerBytes, 4)
  const length = Buffer.alloc(4)
  length.writeUInt32LE(json.length)
  return Buffer.concat([head, json, length, Buffer.from(mark, 'latin1')])
}

/** Null for a block without a valid line. */
function factsOf(text: string, deployments: Set<string>): Pick<PackedBlock, 'firstId' | 'lastId' | 'earliest' | 'latest'> | null {
  const facts = { firstId: 0, lastId: 0, earliest: Number.POSITIVE_INFINITY, latest: Number.NEGATIVE_INFINITY }
  for (const line of text.split('\n')) {
    const found = factsOfLine(line)
    if (!found) continue
    facts.firstId ||= found.id
    facts.lastId = found.id
    facts.earliest = Math.min(facts.earliest, found.time)
    facts.latest = Math.max(facts.latest, found.time)
    if (found.deploymentId !== null && deployments.size <= maxListedDeployments) deployments.add(found.deploymentId)
  }
  return facts.firstId === 0 ? null : facts
}
