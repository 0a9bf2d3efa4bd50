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
    for await (const { text, plainBytes } of plainBlocks(source, 0, size)) {
      const facts = factsOf(text, deployments)
      if (!facts) continue
      const frame = await compress(text, { params: { [constants.ZSTD_c_checksumFlag]: 1 } })
      await target.writeFile(frame)
      blocks.push({ position, bytes: frame.length, plainBytes, ...facts })
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

export async function readBlock(file: FileHandle, { position, bytes, plainBytes }: PackedBlock): Promise<Block> {
  const frame = await readRange(file, position, bytes)
  return { text: (await decompress(frame)).toString('utf8'), plainBytes }
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
