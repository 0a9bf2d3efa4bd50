import { createHash, hash } from 'node:crypto'
import { readTar } from '../../../drivers/tar/read-tar.ts'

/** Files of a tar, by a short hash of the name (names may be long); null: more entries than are tracked. */
export type FileList = Map<string, string> | null

const maxEntries = 200_000
const shortHash = (text: string) => hash('sha1', text, 'base64').slice(0, 16)

/**
 * Reads the tar to its end. Files are compared by type, size, mode and a hash of their content, not by time. A sparse file has
 * no canonical form in a tar, so its time stands for its content.
 */
export async function filesIn(tar: AsyncIterable<Uint8Array>): Promise<{ files: FileList; bytes: number; entries: number }> {
  const files = new Map<string, string>()
  let [bytes, entries] = [0, 0]
  for await (const { header, content } of readTar(tar)) {
    const { name, type, size, mode, mtime, linkname, sparse } = header
    entries += 1
    bytes += size
    if (type !== 'directory' && files.size < maxEntries)
      files.set(
        shortHash(name.replace(/^\.?\/+/, '')),
        shortHash([type, sparse?.realSize ?? size, mode, sparse ? mtime.getTime() : await hashOf(content), linkname].join(' ')),
      )
  }
  return { files: files.size >= maxEntries ? null : files, bytes, entries }
}

async function hashOf(content: AsyncIterable<Uint8Array>): Promise<string> {
  const digest = createHash('sha1')
  for await (const piece of content) digest.update(piece)
  return digest.digest('base64')
}

export interface Difference {
  filesAdded: number | null
  filesChanged: number | null
  filesRemoved: number | null
}

/** Counts the files that replacing `now` by `next` would add, change and remove. */
export function difference(now: FileList, next: FileList): Difference {
  if (!now || !next) return { filesAdded: null, filesChanged: null, filesRemoved: null }
  const names = [...next.keys()]
  return {
    filesAdded: names.filter((name) => !now.has(name)).length,
    filesChanged: names.filter((name) => now.has(name) && now.get(name) !== next.get(name)).length,
    filesRemoved: [...now.keys()].filter((name) => !next.has(name)).length,
  }
}
