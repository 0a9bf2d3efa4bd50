import { readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { formatLogId } from './log-entry.ts'
import { type PackedIndex, packFile } from './packed-segment.ts'
import { recoverPlainFile } from './plain-segment.ts'
import { isMissing, type Segment } from './segment.ts'

/** `<first id>.log` */
export function plainPath(folder: string, firstId: number): string {
  return join(folder, `${formatLogId(firstId)}.log`)
}

/**
 * `<first id>-<last id>-<earliest>-<latest>-<bytes>.log.zst`: a listing of the folder shows the content of each file, without
 * opening it.
 */
function packedPath(folder: string, { firstId, lastId, times, bytes }: Segment): string {
  return join(folder, `${formatLogId(firstId)}-${formatLogId(lastId)}-${times!.earliest}-${times!.latest}-${bytes}.log.zst`)
}

/** The segments of a folder, oldest first. First repairs the remains of a crash. */
export async function listSegments(folder: string): Promise<Segment[]> {
  const names = await readdir(folder).catch((error) => {
    if (isMissing(error)) return []
    throw error
  })
  await Promise.all(names.filter((name) => name.endsWith('.tmp')).map((name) => rm(join(folder, name), { force: true })))
  const segments = names.map((name) => readPackedName(folder, name)).filter((segment) => segment !== null)
  let hasNewest = false
  for (const name of names
    .filter((name) => plainName.test(name))
    .sort()
    .reverse()) {
    // A file that was created but not written before the crash does not count: the previous one is the newest.
    const segment = await readPlain(folder, name, !hasNewest, segments)
    if (segment) segments.push(segment)
    hasNewest ||= segment !== null
  }
  segments.sort((left, right) => left.firstId - right.firstId)
  return segments.map((segment, at) => {
    // A last id of 0 is unknown: the segment ends where the next one begins, and stays unknown without a next one.
    const nextFirstId = segments[at + 1]?.firstId
    return { ...segment, lastId: segment.lastId || (nextFirstId === undefined ? 0 : nextFirstId - 1) }
  })
}

/**
 * Compresses a closed plain segment. The packed file gets its name once it is complete and synced; then the plain file is
 * deleted. After a crash in between both exist, and the packed one counts. Returns null if no line could be read: the segment is
 * then deleted.
 */
export async function packSegment(segment: Segment, folder: string): Promise<PackedIndex | null> {
  const plain = segment.path
  const draft = `${plain}.tmp`
  const { index, bytes } = await packFile(plain, draft)
  if (index.blocks.length === 0) {
    await Promise.all([draft, plain].map((path) => rm(path, { force: true })))
    return null
  }
  const packed: Segment = {
    ...segment,
    form: 'packed',
    bytes,
    lastId: index.blocks.at(-1)!.lastId,
    times: timesOf(index),
  }
  packed.path = packedPath(folder, packed)
  await rename(draft, packed.path)
  Object.assign(segment, packed)
  await rm(plain, { force: true })
  return index
}

const plainName = /^(\d{16})\.log$/
const packedName = /^(\d{16})-(\d{16})-(-?\d+)-(-?\d+)-(\d+)\.log\.zst$/

function readPackedName(folder: string, name: string): Segment | null {
  const parts = packedName.exec(name)
  if (!parts) return null
  const [firstId, lastId, earliest, latest, bytes] = parts.slice(1).map(Number) as [number, number, number, number, number]
  return { firstId, lastId, form: 'packed', path: join(folder, name), bytes, times: { earliest, latest } }
}

/**
 * Only the newest segment can end with an incomplete line. The last id of any other plain segment is unknown, and is set from the
 * first id of the next one.
 */
async function readPlain(folder: string, name: string, newest: boolean, packed: readonly Segment[]): Promise<Segment | null> {
  const path = join(folder, name)
  const firstId = Number(plainName.exec(name)![1])
  if (packed.some((segment) => segment.form === 'packed' && segment.firstId === firstId)) {
    await rm(path, { force: true })
    return null
  }
  if (!newest) return { firstId, lastId: 0, form: 'plain', path, bytes: (await stat(path)).size, times: null }
  const recovered = await recoverPlainFile(path)
  if (recovered) return { firstId, form: 'plain', path, times: null, ...recovered }
  await rm(path, { force: true })
  return null
}

function timesOf({ blocks }: PackedIndex): Segment['times'] {
  return {
    earliest: Math.min(...blocks.map((block) => block.earliest)),
    latest: Math.max(...blocks.map((block) => block.latest)),
  }
}
