import type { SFTPWrapper, Stats } from 'ssh2'
import { ServerUnreachable } from './server-unreachable.ts'

export type FileErrorKind = 'missing' | 'denied' | 'too_large' | 'not_a_file'

/** A file could not be read; the server itself is reachable. */
export class FileUnreadable extends Error {
  override readonly name = 'FileUnreadable'
  readonly errorKind: FileErrorKind

  constructor(errorKind: FileErrorKind, message: string) {
    super(message)
    this.errorKind = errorKind
  }
}

/** Reads files of a server over SFTP, as the user of the login; never writes. */
export interface ServerFiles {
  /**
   * Reads the whole file. Rejects with `FileUnreadable`; a file that is larger than `maxBytes`, or grows past it while it is
   * read, is `too_large`. A device, pipe or socket is `not_a_file` and is never opened.
   */
  read(path: string, maxBytes: number, abort: AbortSignal): Promise<Buffer>
  /**
   * Kind and size of a path; undefined when it does not exist. Symlinks are followed. Rejects with `FileUnreadable` (`denied`).
   */
  stat(path: string, abort: AbortSignal): Promise<FileStat | undefined>
  /** Whether the login may connect to a socket, by its mode; nothing is sent to the listening process. */
  mayUseSocket(path: string, abort: AbortSignal): Promise<boolean>
  /** Names in a folder, at most `maxNames`. */
  list(path: string, maxNames: number, abort: AbortSignal): Promise<string[]>
}

export interface FileStat {
  kind: 'file' | 'folder' | 'socket' | 'other'
  sizeBytes: number
}

const callTimeoutMs = 15_000
const chunkBytes = 32 * 1024
const maxConcurrentReads = 8

/** Status codes of SFTP. */
const endOfFile = 1
const noSuchFile = 2
const permissionDenied = 3

/** Uses one SFTP session. `open` opens it, and again after it was lost. */
export function createServerFiles(open: (abort: AbortSignal) => Promise<SFTPWrapper>): ServerFiles {
  async function stat(path: string, abort: AbortSignal): Promise<FileStat | undefined> {
    const sftp = await open(abort)
    try {
      const found = await call<Stats>((done) => sftp.stat(path, done), abort)
      const kind = found.isFile() ? 'file' : found.isDirectory() ? 'folder' : found.isSocket() ? 'socket' : 'other'
      return { kind, sizeBytes: found.size }
    } catch (error) {
      if (codeOf(error) === noSuchFile) return undefined
      throw toFileError(error, path)
    }
  }
  return {
    stat,
    async read(path, maxBytes, abort) {
      const found = await stat(path, abort)
      if (!found) throw new FileUnreadable('missing', `${path} does not exist`)
      if (found.kind !== 'file') throw new FileUnreadable('not_a_file', `${path} is not a file`)
      if (found.sizeBytes > maxBytes) throw tooLarge(path, maxBytes)
      const sftp = await open(abort)
      const handle = await call<Buffer>((done) => sftp.open(path, 'r', done), abort).catch((error: unknown) => {
        throw toFileError(error, path)
      })
      try {
        return await readAll(sftp, handle, path, { sizeBytes: found.sizeBytes, maxBytes }, abort)
      } finally {
        sftp.close(handle, () => undefined)
      }
    },
    async mayUseSocket(path, abort) {
      const sftp = await open(abort)
      try {
        // The kernel checks permissions first; opening a socket as a file then fails with another error.
        const handle = await call<Buffer>((done) => sftp.open(path, 'r+', done), abort)
        sftp.close(handle, () => undefined)
        return true
      } catch (error) {
        if (error instanceof ServerUnreachable) throw error
        return codeOf(error) !== permissionDenied
      }
    },
    async list(path, maxNames, abort) {
      const sftp = await open(abort)
      const handle = await call<Buffer>((done) => sftp.opendir(path, done), abort).catch((error: unknown) => {
        throw toFileError(error, path)
      })
      const names: string[] = []
      try {
        while (names.length < maxNames) {
          const page = await call<{ filename: string }[] | undefined>(
            (done) => sftp.readdir(handle, (error, list) => done(error as Error, list)),
            abort,
          ).catch((error: unknown) => {
            if (codeOf(error) === endOfFile) return undefined
            throw toFileError(error, path)
          })
          if (!page || page.length === 0) break
          names.push(...page.map(({ filename }) => filename).filter((name) => name !== '.' && name !== '..'))
        }
      } finally {
        sftp.close(handle, () => undefined)
      }
      return names.slice(0, maxNames)
    },
  }
}

/** Reads several pieces concurrently, since each costs a round trip. A file in `/proc` reports size 0 and has content. */
async function readAll(
  sftp: SFTPWrapper,
  handle: Buffer,
  path: string,
  { sizeBytes, maxBytes }: { sizeBytes: number; maxBytes: number },
  abort: AbortSignal,
): Promise<Buffer> {
  const piece = async (at: number): Promise<Buffer> => {
    const into = Buffer.alloc(chunkBytes)
    const count = await call<number>(
      (done) => sftp.read(handle, into, 0, chunkBytes, at, (error, read) => done(error as Error, read)),
      abort,
    ).catch((error: unknown) => {
      if (codeOf(error) === endOfFile) return 0
      throw toFileError(error, path)
    })
    return into.subarray(0, count)
  }
  const pieces: Buffer[] = []
  let length = 0
  while (length < sizeBytes) {
    const starts = Array.from({ length: maxConcurrentReads }, (_, n) => length + n * chunkBytes).filter((at) => at < sizeBytes)
    for (const part of await Promise.all(starts.map(piece))) {
      pieces.push(part)
      length += part.length
      // The file has become shorter: the following pieces would leave a gap, so they are dropped.
      if (part.length < chunkBytes) return readToEnd()
    }
  }
  return readToEnd()

  async function readToEnd(): Promise<Buffer> {
    for (;;) {
      const more = await piece(length)
      if (more.length === 0) return Buffer.concat(pieces)
      pieces.push(more)
      length += more.length
      if (length > maxBytes) throw tooLarge(path, maxBytes)
    }
  }
}

const tooLarge = (path: string, maxBytes: number) =>
  new FileUnreadable('too_large', `${path} is larger than ${Math.round(maxBytes / 1024)} KB`)

const codeOf = (error: unknown) => (error as { code?: number | string })?.code

function toFileError(error: unknown, path: string): unknown {
  if (codeOf(error) === noSuchFile) return new FileUnreadable('missing', `${path} does not exist`)
  if (codeOf(error) === permissionDenied) return new FileUnreadable('denied', `${path} may not be read by this login`)
  return error
}

/** Wraps a call of the client library, which ends by its response, the caller's abort or the timeout. */
export function call<T>(
  start: (done: (error: Error | null | undefined, value: T) => void) => void,
  abort: AbortSignal,
): Promise<T> {
  const limit = AbortSignal.any([abort, AbortSignal.timeout(callTimeoutMs)])
  return new Promise<T>((resolve, reject) => {
    const onAbort = () =>
      reject(
        abort.aborted
          ? abort.reason
          : new ServerUnreachable('unreachable', `The server did not answer within ${callTimeoutMs / 1000} s`),
      )
    if (limit.aborted) return onAbort()
    limit.addEventListener('abort', onAbort, { once: true })
    start((error, value) => {
      limit.removeEventListener('abort', onAbort)
      if (error) reject(error)
      else resolve(value)
    })
  })
}
