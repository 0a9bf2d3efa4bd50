import type { FileEntryWithStats, SFTPWrapper, Stats } from 'ssh2'

/**
 * Kinds of failure by the server's status code. `failed` is SFTP's only code for a full disk, a taken name, and many other
 * errors.
 */
export type SftpErrorKind = 'missing' | 'denied' | 'failed' | 'silent' | 'lost'

export class SftpFailed extends Error {
  override readonly name = 'SftpFailed'
  readonly errorKind: SftpErrorKind

  constructor(errorKind: SftpErrorKind, message: string, options?: ErrorOptions) {
    super(message, options)
    this.errorKind = errorKind
  }
}

export interface SftpEntry {
  name: string
  kind: 'file' | 'folder' | 'other'
  sizeBytes: number
  modifiedAt: Date
}

/** Reads and writes files over one SFTP session. Every response has a time limit; rejects with `SftpFailed`. */
export interface SftpFiles {
  /** Creates a file with this content, synced to disk where the server supports it. Resolves with its size. */
  write(path: string, content: AsyncIterable<Uint8Array>): Promise<number>
  read(path: string, from: number): AsyncGenerator<Uint8Array>
  /** Undefined when the path does not exist. Symlinks are not followed. */
  stat(path: string): Promise<Omit<SftpEntry, 'name'> | undefined>
  /** Lists a folder, one response of the server (at most 256 KB) at a time; empty when the folder does not exist. */
  pages(path: string): AsyncGenerator<SftpEntry[]>
  makeFolder(path: string): Promise<void>
  /** Replaces an existing file, atomically where the server supports it. */
  rename(from: string, to: string): Promise<void>
  remove(path: string): Promise<void>
  removeFolder(path: string): Promise<void>
  /** Free bytes at the path; undefined where the server does not report them. */
  freeBytes(path: string): Promise<number | undefined>
}

const responseTimeoutMs = 60_000
const pieceBytes = 32 * 1024
/** Concurrent requests: each costs a round trip. */
const piecesAtOnce = 32
const errorKindByStatus: Record<number, SftpErrorKind> = { 2: 'missing', 3: 'denied', 6: 'lost', 7: 'lost' }
const endOfFile = 1

export function sftpFiles(sftp: SFTPWrapper): SftpFiles {
  return {
    async write(path, content) {
      const handle = await request<Buffer>(path, (done) => sftp.open(path, 'wx', 0o600, done))
      try {
        const sizeBytes = await writeAll(sftp, handle, path, content)
        await request<void>(path, (done) => sftp.ext_openssh_fsync(handle, (error) => done(error, undefined))).catch(
          ignoreUnsupported,
        )
        return sizeBytes
      } finally {
        await request<void>(path, (done) => sftp.close(handle, (error) => done(error, undefined)))
      }
    },
    read: (path, from) => readFrom(sftp, path, from),
    async stat(path) {
      const found = await request<Stats>(path, (done) => sftp.lstat(path, done)).catch(ignoreMissing)
      return found && { kind: kindOf(found), sizeBytes: found.size, modifiedAt: new Date(found.mtime * 1000) }
    },
    pages: (path) => pagesOf(sftp, path),
    makeFolder: (path) => request(path, (done) => sftp.mkdir(path, { mode: 0o700 }, (error) => done(error, undefined))),
    async rename(from, to) {
      const atomicRename = request<void>(to, (done) => sftp.ext_openssh_rename(from, to, (error) => done(error, undefined)))
      if (await atomicRename.then(() => true, ignoreUnsupported)) return
      await request<void>(to, (done) => sftp.unlink(to, (error) => done(error, undefined))).catch(ignoreMissing)
      await request<void>(to, (done) => sftp.rename(from, to, (error) => done(error, undefined)))
    },
    remove: (path) => request(path, (done) => sftp.unlink(path, (error) => done(error, undefined))),
    removeFolder: (path) => request(path, (done) => sftp.rmdir(path, (error) => done(error, undefined))),
    async freeBytes(path) {
      type FreeSpace = { f_bavail: number; f_frsize: number }
      const query = (done: Done<FreeSpace>) =>
        sftp.ext_openssh_statvfs(path, (error, found) => done(error, found as unknown as FreeSpace))
      const free = await request<FreeSpace>(path, query).catch(() => undefined)
      return free && free.f_bavail * free.f_frsize
    },
  }
}

async function writeAll(sftp: SFTPWrapper, handle: Buffer, path: string, content: AsyncIterable<Uint8Array>): Promise<number> {
  const pending = new Set<Promise<void>>()
  let failure: { error: unknown } | undefined
  let position = 0
  for await (const chunk of content) {
    for (let at = 0; at < chunk.length; at += pieceBytes) {
      const piece = Buffer.from(chunk.buffer, chunk.byteOffset + at, Math.min(pieceBytes, chunk.length - at))
      const start = position
      position += piece.length
      const written = request<void>(path, (done) =>
        sftp.write(handle, piece, 0, piece.length, start, (error) => done(error, undefined)),
      )
        .catch((error: unknown) => {
          failure ??= { error }
        })
        .finally(() => pending.delete(written))
      pending.add(written)
      if (pending.size >= piecesAtOnce) await Promise.race(pending)
      if (failure) throw failure.error
    }
  }
  await Promise.all(pending)
  if (failure) throw failure.error
  return position
}

async function* readFrom(sftp: SFTPWrapper, path: string, from: number): AsyncGenerator<Uint8Array> {
  const handle = await request<Buffer>(path, (done) => sftp.open(path, 'r', done))
  try {
    const { size } = await request<Stats>(path, (done) => sftp.fstat(handle, done))
    const ahead: Promise<Buffer>[] = []
    for (let next = from; next < size || ahead.length > 0; ) {
      for (; next < size && ahead.length < piecesAtOnce; next += pieceBytes) {
        const piece = readPiece(sftp, handle, path, next, Math.min(pieceBytes, size - next))
        piece.catch(() => undefined)
        ahead.push(piece)
      }
      yield await ahead.shift()!
    }
  } finally {
    // Not awaited: an unresponsive server does not answer.
    sftp.close(handle, () => undefined)
  }
}

/** Reads a folder in pages. The library's own listing collects the whole folder in memory, whatever its size. */
async function* pagesOf(sftp: SFTPWrapper, path: string): AsyncGenerator<SftpEntry[]> {
  const handle = await request<Buffer>(path, (done) => sftp.opendir(path, done)).catch(ignoreMissing)
  if (!handle) return
  try {
    for (;;) {
      const read = (done: Done<FileEntryWithStats[] | undefined>) =>
        sftp.readdir(handle, (error, found) =>
          (error as { code?: unknown } | undefined)?.code === endOfFile ? done(null, undefined) : done(error as Error, found),
        )
      const found = await request<FileEntryWithStats[] | undefined>(path, read)
      if (!found) return
      yield found.filter(({ filename }) => filename !== '.' && filename !== '..').map(entryOf)
    }
  } finally {
    sftp.close(handle, () => undefined)
  }
}

const entryOf = ({ filename, attrs }: FileEntryWithStats): SftpEntry => ({
  name: filename,
  kind: kindOf(attrs),
  // A server may omit any of these.
  sizeBytes: attrs.size ?? 0,
  modifiedAt: new Date((attrs.mtime ?? 0) * 1000),
})

/** Reads the whole piece: a server may return less than requested, and a gap would corrupt the data. */
async function readPiece(sftp: SFTPWrapper, handle: Buffer, path: string, from: number, length: number): Promise<Buffer> {
  const into = Buffer.allocUnsafeSlow(length)
  for (let at = 0; at < length; ) {
    const read = (done: Done<number>) =>
      sftp.read(handle, into, at, length - at, from + at, (error, bytes) => done(error as Error, bytes))
    const bytes = await request<number>(path, read)
    if (bytes === 0) return into.subarray(0, at)
    at += bytes
  }
  return into
}

type Done<T> = (error: Error | null | undefined, value: T) => void

/** Sends a request about the path; rejects with `SftpFailed` after the timeout or an error of the server. */
function request<T>(path: string, send: (done: Done<T>) => void): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const onTimeout = () => reject(new SftpFailed('silent', `The server did not answer within ${responseTimeoutMs / 1000} s`))
    const timer = setTimeout(onTimeout, responseTimeoutMs)
    const done: Done<T> = (error, value) => {
      clearTimeout(timer)
      if (error) reject(asFailure(error, path))
      else resolve(value)
    }
    try {
      send(done)
    } catch (error) {
      // The library throws when the server lacks an extension.
      clearTimeout(timer)
      reject(new UnsupportedByServer('failed', 'The server does not support this operation', { cause: error }))
    }
  })
}

class UnsupportedByServer extends SftpFailed {}

function asFailure(error: Error, path: string): SftpFailed {
  const { code } = error as { code?: unknown }
  if (code === 8) return new UnsupportedByServer('failed', 'The server does not support this operation', { cause: error })
  if (code === endOfFile) return new SftpFailed('failed', `${path} is shorter than it was`, { cause: error })
  if (typeof code !== 'number') return new SftpFailed('lost', 'The connection was lost', { cause: error })
  const errorKind = errorKindByStatus[code] ?? 'failed'
  const text = error.message.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').slice(0, 200)
  return new SftpFailed(errorKind, `${path}: ${text}`, { cause: error })
}

function ignoreMissing(error: unknown): undefined {
  if (!(error instanceof SftpFailed) || error.errorKind !== 'missing') throw error
}

function ignoreUnsupported(error: unknown): undefined {
  if (!(error instanceof UnsupportedByServer)) throw error
}

const kindOf = (stats: { mode: number }): SftpEntry['kind'] => {
  const type = stats.mode & 0o170000
  return type === 0o100000 ? 'file' : type === 0o040000 ? 'folder' : 'other'
}
