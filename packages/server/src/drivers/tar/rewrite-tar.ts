import type { Awaitable } from '../../platform/awaitable.ts'
import { readTar } from './read-tar.ts'
import { encodeHeader, fillAfter, type TarHeader, tarEnd } from './tar-header.ts'

type HeaderOf = (header: TarHeader) => Awaitable<TarHeader | null>

/** The same archive with other headers; an entry for which there is none is left out. Names that are not text stay what they are. */
export async function* rewriteTar(tar: AsyncIterable<Uint8Array>, headerOf: HeaderOf): AsyncGenerator<Uint8Array> {
  yield* rewriteEntries(tar, headerOf)
  yield tarEnd
}

/** Without the mark of its end, so that others may follow. */
export async function* rewriteEntries(tar: AsyncIterable<Uint8Array>, headerOf: HeaderOf): AsyncGenerator<Uint8Array> {
  for await (const { header, content } of readTar(tar)) {
    const kept = await headerOf(header)
    if (!kept) continue
    const isFile = kept.type === 'file' || kept.type === 'contiguous-file'
    yield encodeHeader({ ...kept, size: isFile ? header.size : 0 })
    if (!isFile) continue
    yield* content
    yield fillAfter(header.size)
  }
}
