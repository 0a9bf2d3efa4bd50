import { constants, createReadStream } from 'node:fs'
import { lstat, readlink } from 'node:fs/promises'
import type { ServerHttp2Stream } from 'node:http2'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { SourceEntry } from '../../../../source/list-source.ts'
import { beginReply, framed, messagesOf } from './grpc.ts'
import { bytesField, numberField, numberIn } from './protobuf.ts'

/** A folder that a build reads: files on disk below `folder`, and further files. */
export interface SentFolder {
  folder: string
  entries: readonly SourceEntry[]
  /** Files on disk outside of `folder`, by their names in it. */
  files?: ReadonlyMap<string, string>
  texts?: ReadonlyMap<string, string>
}

/** Packet types of BuildKit's file transfer (fsutil). */
const packet = { stat: 0, request: 1, data: 2, finished: 3 } as const
/** File mode bits of Go. */
const goMode = { folder: 2 ** 31, link: 2 ** 27 } as const
const chunkBytes = 64 * 1024
const maxRequestBytes = 64 * 1024
/** Refuses links and pipes that have replaced a file since it was listed. */
const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

interface SentEntry {
  path: string
  mode: number
  size: number
  mtimeNs: bigint
  linkname: string
  content(): AsyncIterable<Buffer> | Iterable<Buffer>
}

/**
 * Sends a folder to BuildKit: the list of files, then the content of the files that BuildKit requests. All files belong to
 * root, as with `docker build`. The `.dockerignore` was applied when the entries were listed, so BuildKit is given none.
 */
export async function sendFolder(
  stream: ServerHttp2Stream,
  folder: SentFolder,
  requestedPaths: readonly string[],
): Promise<void> {
  const isOnlyIgnoreFile = requestedPaths.length > 0 && requestedPaths.every((path) => path === '.dockerignore')
  const all = isOnlyIgnoreFile ? [] : await entriesOf(folder)
  beginReply(stream)
  await pipeline(Readable.from(packets(all, messagesOf(stream, maxRequestBytes))), stream)
}

async function* packets(all: readonly SentEntry[], requests: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for (const sent of all) yield framed(Buffer.concat([numberField(1, packet.stat), bytesField(2, statOf(sent))]))
  yield framed(numberField(1, packet.stat))
  for await (const request of requests) {
    const kind = numberIn(request, 1)
    if (kind === packet.finished) return yield framed(numberField(1, packet.finished))
    if (kind !== packet.request) throw new Error(`BuildKit sent a packet of the kind ${kind}`)
    const id = numberIn(request, 3)
    const sent = all[id]
    if (!sent) throw new Error(`BuildKit requested file ${id}, but the folder has only ${all.length} files`)
    const header = Buffer.concat([numberField(1, packet.data), numberField(3, id)])
    for await (const chunk of sent.content()) yield framed(Buffer.concat([header, bytesField(4, chunk)]))
    yield framed(header)
  }
}

const statOf = ({ path, mode, size, mtimeNs, linkname }: SentEntry): Buffer =>
  Buffer.concat([
    bytesField(1, path),
    numberField(2, mode),
    numberField(5, size),
    numberField(6, mtimeNs),
    ...(linkname ? [bytesField(7, linkname)] : []),
  ])

/** Entries in the order that BuildKit requires: each after its folder. */
async function entriesOf({ folder, entries, files, texts }: SentFolder): Promise<SentEntry[]> {
  const all = new Map<string, SentEntry>()
  for (const { path } of entries) {
    const sent = await readEntry(path, join(folder, path))
    if (sent) all.set(path, sent)
  }
  for (const [path, file] of files ?? []) {
    const sent = await readEntry(path, file)
    if (sent) all.set(path, sent)
  }
  for (const [path, text] of texts ?? []) {
    const bytes = Buffer.from(text)
    all.set(path, { path, mode: 0o644, size: bytes.length, mtimeNs: 0n, linkname: '', content: () => [bytes] })
  }
  for (const path of [...all.keys()])
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const parent = path.slice(0, end)
      if (!all.has(parent)) all.set(parent, { ...emptyFolder, path: parent })
    }
  return [...all.values()].sort((one, other) => compare(one.path, other.path))
}

const emptyFolder = { mode: 0o755 + goMode.folder, size: 0, mtimeNs: 0n, linkname: '', content: () => [] }

async function readEntry(path: string, file: string): Promise<SentEntry | null> {
  const stat = await lstat(file, { bigint: true })
  const sent = { path, size: 0, mtimeNs: stat.mtimeNs, linkname: '', content: () => [] }
  const mode = Number(stat.mode) & 0o777
  if (stat.isDirectory()) return { ...sent, mode: (mode | 0o700) + goMode.folder }
  if (stat.isSymbolicLink()) return { ...sent, mode: 0o777 + goMode.link, linkname: await readlink(file) }
  if (!stat.isFile()) return null
  const size = Number(stat.size)
  // Exactly the announced number of bytes, even if the file grows.
  const content = () =>
    size === 0 ? [] : createReadStream(file, { flags: flags as unknown as string, end: size - 1, highWaterMark: chunkBytes })
  return { ...sent, mode, size, content: content as SentEntry['content'] }
}

/** Compares paths segment by segment, as bytes: a folder is followed by its entries. */
function compare(one: string, other: string): number {
  const [left, right] = [one.split('/'), other.split('/')]
  for (const [at, name] of left.entries()) {
    const otherName = right[at]
    if (otherName === undefined) return 1
    if (name !== otherName) return Buffer.compare(Buffer.from(name), Buffer.from(otherName))
  }
  return left.length - right.length
}
