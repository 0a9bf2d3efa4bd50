import { encodeHeader, fromText, paddingAfter, type TarHeader, tarEnd } from './tar-header.ts'

/** An entry to be written; its names are text. */
export type NewEntry = Pick<TarHeader, 'name' | 'mode'> & Partial<Pick<TarHeader, 'uid' | 'gid' | 'mtime' | 'linkname'>>

/** The content does not have the size that was announced, for example because the file was changed while it was read. */
export class SizeMismatch extends Error {
  override readonly name = 'SizeMismatch'
}

export const folderEntry = (entry: NewEntry): Buffer => header(entry, 'directory', 0)
export const symlinkEntry = (entry: NewEntry & { linkname: string }): Buffer => header(entry, 'symlink', 0)

/** A file whose content is in memory. */
export const textEntry = (entry: NewEntry, content: Uint8Array): Buffer =>
  Buffer.concat([header(entry, 'file', content.length), content, paddingAfter(content.length)])

/** A file with exactly `size` bytes of content. Throws `SizeMismatch`. */
export async function* fileEntry(
  entry: NewEntry & { size: number },
  content: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield header(entry, 'file', entry.size)
  let left = entry.size
  for await (const chunk of content) {
    left -= chunk.length
    if (left < 0) break
    yield chunk
  }
  if (left !== 0) throw new SizeMismatch(`${entry.name} does not have ${entry.size} bytes`)
  yield paddingAfter(entry.size)
}

/** A whole archive of entries that are in memory. */
export const smallTar = (...entries: readonly Buffer[]): Buffer => Buffer.concat([...entries, tarEnd])

function header(entry: NewEntry, type: TarHeader['type'], size: number): Buffer {
  const { name, mode, uid = 0, gid = 0, mtime = new Date(), linkname = '' } = entry
  return encodeHeader({ name: fromText(name), linkname: fromText(linkname), type, size, mode, uid, gid, mtime })
}
