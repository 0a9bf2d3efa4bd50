import { mkdirSync, openSync } from 'node:fs'
import { basename, dirname } from 'node:path'

/** What the kernel takes as the address of a unix socket, with room for its end. */
const bytesAtMost = 100
const folders = new Map<string, number>()

/**
 * A unix socket's address is short, a data folder's path may not be: a longer one is spelt by a descriptor of its folder,
 * which stays open. Elsewhere than on Linux there is no such spelling, and the long path fails with the system's own words.
 */
export function socketAddress(path: string): string {
  if (Buffer.byteLength(path) <= bytesAtMost || process.platform !== 'linux') return path
  const folder = dirname(path)
  let descriptor = folders.get(folder)
  if (descriptor === undefined) {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    descriptor = openSync(folder, 'r')
    folders.set(folder, descriptor)
  }
  return `/proc/self/fd/${descriptor}/${basename(path)}`
}
