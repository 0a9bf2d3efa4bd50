import { constants } from 'node:fs'
import { type FileHandle, open, readlink, realpath } from 'node:fs/promises'
import { join, sep } from 'node:path'

/** Why a file was not read: missing, not a regular file of the project, or larger than the limit. */
export type NotRead = 'missing' | 'outside' | 'too large'
export type Read = { text: string; size: number } | { text: null; why: NotRead }

export interface ReadOptions {
  maxBytes: number
  /** The first bytes will do. */
  onlyStart?: boolean
  /** Called before memory is allocated; `false` counts as too large. */
  take?: (bytes: number) => boolean
}

/** Neither a link put there since nor a pipe that never answers is opened. */
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
    return (await isStill(handle, real)) ? await read(handle, options) : { text: null, why: 'outside' }
  } finally {
    await handle.close()
  }
}

/** Checks the path of the opened file: a parent folder may have become a symlink in between. */
async function isStill(handle: FileHandle, real: string): Promise<boolean> {
  if (process.platform !== 'linux') return true
  return (await readlink(`/proc/self/fd/${handle.fd}`).catch(() => real)) === real
}

async function read(handle: FileHandle, { maxBytes, onlyStart = false, take = () => true }: ReadOptions): Promise<Read> {
  const info = await handle.stat()
  if (!info.isFile()) return { text: null, why: 'outside' }
  const wanted = Math.min(info.size, maxBytes)
  if ((info.size > maxBytes && !onlyStart) || !take(wanted)) return { text: null, why: 'too large' }
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(wanted), 0)
  return { text: new TextDecoder().decode(buffer.subarray(0, bytesRead)), size: info.size }
}
