import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { extract, type Header, pack } from 'tar-stream'

/** The same archive with other names; an entry without one is left out. Owners, modes, times and bytes stay. */
export async function* renamed(
  tar: AsyncIterable<Uint8Array>,
  nameOf: (name: string, header: Header) => string | null,
): AsyncGenerator<Uint8Array> {
  const reader = extract()
  const writer = pack()
  const fed = pipeline(Readable.from(tar), reader)
  const written = copyEntries(reader, writer, nameOf).then(
    () => writer.finalize(),
    (error: unknown) => writer.destroy(error as Error),
  )
  // Whatever fails shows in the writer; a promise nobody has come to yet must not fail on its own.
  fed.catch((error: unknown) => writer.destroy(error as Error))
  for await (const chunk of writer) yield chunk as Uint8Array
  await written
  await fed
}

async function copyEntries(
  reader: ReturnType<typeof extract>,
  writer: ReturnType<typeof pack>,
  nameOf: (name: string, header: Header) => string | null,
): Promise<void> {
  for await (const entry of reader) {
    const { header } = entry
    const name = nameOf(header.name, header)
    const linkname = header.type === 'link' && header.linkname ? nameOf(header.linkname, header) : header.linkname
    if (name === null || name === '' || (header.type === 'link' && !linkname)) {
      entry.resume()
      continue
    }
    // A name from an extended header comes along in `pax` and would win over the new one.
    const { pax: _pax, ...plain } = header
    const target = { ...plain, name, ...(linkname ? { linkname } : {}) }
    if (header.type === 'file' || header.type === 'contiguous-file') await pipeline(Readable.from(entry), writer.entry(target))
    else {
      entry.resume()
      await new Promise<void>((resolve, reject) => writer.entry(target, (error) => (error ? reject(error) : resolve())))
    }
  }
}

/** Names relative to the folder that was asked for, as `a/b`; the folder itself is left out. */
export const withoutTop = (tar: AsyncIterable<Uint8Array>) =>
  renamed(tar, (name) => name.replace(/^\.?\/+/, '').replace(/^\.$/, ''))

const kindsOfVolumes = new Set(['file', 'contiguous-file', 'directory', 'symlink', 'link'])

/** For the engine, which unpacks as root: names that stay below the top, and no device, pipe or the like. */
export const harmless = (tar: AsyncIterable<Uint8Array>) =>
  renamed(tar, (name, { type }) => {
    const parts = name.split('/').filter((part) => part !== '' && part !== '.')
    if (parts.includes('..')) throw new Error(`${name} leads out of the volume`)
    return kindsOfVolumes.has(type ?? '') ? parts.join('/') : null
  })
