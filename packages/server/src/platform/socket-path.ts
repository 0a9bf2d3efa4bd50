import { mkdirSync, openSync } from 'node:fs'
import { basename, dirname } from 'node:path'

/** Maximum length of a unix socket path that the kernel accepts, with a margin. */
const maxBytes = 100
const folders = new Map<string, number>()

/**
 * The path of a unix socket is limited, and a data folder's path may be longer: then the folder is addressed through an open
 * descriptor. Outside Linux this is not possible, and a long path fails with the system's error.
 */
export function socketAddress(path: string): string {
  if (Buffer.byteLength(path) <= maxBytes || process.platform !== 'linux') return path
  const folder = dirname(path)
  let descriptor = folders.get(folder)
  if (descriptor === undefined) {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    descriptor = openSync(folder, 'r')
    folders.set(folder, descriptor)
  }
  return `/proc/self/fd/${descriptor}/${basename(path)}`
}
