import { rewriteTar } from '../../../tar/rewrite-tar.ts'
import { asText, type TarHeader } from '../../../tar/tar-header.ts'

/** The same archive with other names; an entry without one is left out. Owners, modes, times and bytes stay. A name is bytes, one a character. */
export function renamed(
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

/** Names relative to the folder that was asked for, as `a/b`; the folder itself is left out. */
export const withoutTop = (tar: AsyncIterable<Uint8Array>) =>
  renamed(tar, (name) => name.replace(/^\.?\/+/, '').replace(/^\.$/, ''))

const kindsOfVolumes = new Set(['file', 'contiguous-file', 'directory', 'symlink', 'link'])

/** For the engine, which unpacks as root: names that stay below the top, and no device, pipe or the like. `onTop` is told of the top itself. */
export const harmless = (tar: AsyncIterable<Uint8Array>, onTop: (header: TarHeader) => void = () => undefined) =>
  renamed(tar, (name, header) => {
    const { type } = header
    const parts = name.split('/').filter((part) => part !== '' && part !== '.')
    if (parts.length === 0 && type === 'directory') onTop(header)
    if (parts.includes('..')) throw new Error(`${asText(name)} leads out of the volume`)
    return kindsOfVolumes.has(type) ? parts.join('/') : null
  })
