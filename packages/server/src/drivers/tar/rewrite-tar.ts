import type { Awaitable } from '../../platform/awaitable.ts'
import { readTar } from './read-tar.ts'
import { encodeHeader, paddingAfter, type TarHeader, tarEnd } from './tar-header.ts'

type HeaderOf = (header: TarHeader) => Awaitable<TarHeader | null>

/**
 * Rewrites the headers of an archive; an entry whose new header is null is left out. Names that are not valid text are
 * preserved.
 */
export async function* rewriteTar(tar: AsyncIterable<Uint8Array>, headerOf: HeaderOf): AsyncGenerator<Uint8Array> {
  yield* rewriteEntries(tar, headerOf)
  yield tarEnd
}

/** Rewrites entries without the end-of-archive mark, so that others may follow. */
export async function* rewriteEntries(tar: AsyncIterable<Uint8Array>, headerOf: HeaderOf): AsyncGenerator<Uint8Array> {
  for await (const { header, content } of readTar(tar)) {
    const newHeader = await headerOf(header)
    if (!newHeader) continue
    const isFile = newHeader.type === 'file' || newHeader.type === 'contiguous-file'
    yield encodeHeader({ ...newHeader, size: isFile ? header.size : 0 })
    if (!isFile) continue
    yield* content
    yield paddingAfter(header.size)
  }
}
