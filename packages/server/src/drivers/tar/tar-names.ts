import { rewriteTar } from './rewrite-tar.ts'
import { asText, type TarHeader } from './tar-header.ts'

/**
 * Renames the entries of an archive, and leaves out entries without a new name. Owners, modes, times and contents stay. A name
 * is a string of bytes, one per character.
 */
export function renameEntries(
  tar: AsyncIterable<Uint8Array>,
  nameOf: (name: string, header: TarHeader) => string | null,
): AsyncGenerator<Uint8Array> {
  return rewriteTar(tar, (header) => {
    const name = nameOf(header.name, header)
    const linkname = header.type === 'link' ? nameOf(header.linkname, header) : header.linkname
    if (!name || (header.type === 'link' && !linkname)) return null
    return { ...header, name, linkname: linkname ?? '' }
  })
}

/** Makes names relative to the archived folder (`a/b`). Leaves out the folder itself. */
export const withoutTopFolder = (tar: AsyncIterable<Uint8Array>) =>
  renameEntries(tar, (name) => name.replace(/^\.?\/+/, '').replace(/^\.$/, ''))

const allowedTypes = new Set(['file', 'contiguous-file', 'directory', 'symlink', 'link'])

/**
 * Makes an archive safe for the engine, which unpacks as root: names stay below the top, and devices, pipes and the like are left
 * out. `onTopFolder` gets the header of the top folder.
 */
export const sanitizeArchive = (tar: AsyncIterable<Uint8Array>, onTopFolder: (header: TarHeader) => void = () => undefined) =>
  renameEntries(tar, (name, header) => {
    const { type } = header
    const parts = name.split('/').filter((part) => part !== '' && part !== '.')
    if (parts.length === 0 && type === 'directory') onTopFolder(header)
    if (parts.includes('..')) throw new Error(`${asText(name)} points outside the volume`)
    return allowedTypes.has(type) ? parts.join('/') : null
  })
