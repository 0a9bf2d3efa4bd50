import { constants } from 'node:fs'
import { type FileHandle, open, readlink, realpath } from 'node:fs/promises'
import { join, sep } from 'node:path'

/** Why a file was not read: missing, not a regular file of the project, or larger than the limit. */
export type ReadFailure = 'missing' | 'outside' | 'too large'
export type Read = { text: string; size: number } | { text: null; why: ReadFailure }

export interface ReadOptions {
  maxBytes: number
  /** Reads only the first `maxBytes` of a larger file. */
  onlyStart?: boolean
  /** Called before memory is allocated. If it returns `false`, the file counts as too large. */
  reserveBytes?: (bytes: number) => boolean
}

/** Opens neither a symlink that was created meanwhile nor a pipe that blocks. */
const asPlainFile = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/**
 * Reads a regular file of an untrusted project inside `root` (absolute, without symlinks), up to a size limit. A symlink to
 * another file of the project is followed; one that leads outside, a device, a pipe and a socket are not read.
 */
export async function readInside(root: string, path: string, options: ReadOptions): Promise<Read> {
  const real = await realpath(join(root, path)).catch(() => null)
  if (real === null) return { text: null, why: 'missing' }
  if (!real.startsWith(root + sep)) return { text: null, why: 'outside' }
  const handle = await open(real, asPlainFile).catch(() => null)
  if (!handle) return { text: null, why: 'outside' }
  try {
    return (await isSamePath(handle, real)) ? await read(handle, options) : { text: null, why: 'outside' }
  } finally {
    await handle.close()
  }
}

/** Checks the path of the opened file: a parent folder may have become a symlink in between. */
async function isSamePath(handle: FileHandle, real: string): Promise<boolean> {
  if (process.platform !== 'linux') return true
  return (await readlink(`/proc/self/fd/${handle.fd}`).catch(() => real)) === real
}

async function read(handle: FileHandle, { maxBytes, onlyStart = false, reserveBytes = () => true }: ReadOptions): Promise<Read> {
  const info = await handle.stat()
  if (!info.isFile()) return { text: null, why: 'outside' }
  const length = Math.min(info.size, maxBytes)
  if ((info.size > maxBytes && !onlyStart) || !reserveBytes(length)) return { text: null, why: 'too large' }
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0)
  return { text: new TextDecoder().decode(buffer.subarray(0, bytesRead)), size: info.size }
}
