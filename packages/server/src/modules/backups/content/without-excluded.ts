import { Readable } from 'node:stream'
import { extract, pack } from 'tar-stream'
import { IgnoreRules } from '../../../source/ignore/git-ignore.ts'

/** The tar without what the patterns name, by the rules of .gitignore; a folder that is left out goes with all that is in it. */
export function withoutExcluded(tar: AsyncIterable<Uint8Array>, patterns: readonly string[]): AsyncIterable<Uint8Array> {
  return patterns.length === 0 ? tar : filtered(tar, IgnoreRules.none.with(patterns.join('\n'), ''))
}

async function* filtered(tar: AsyncIterable<Uint8Array>, rules: IgnoreRules): AsyncGenerator<Uint8Array> {
  const reader = extract()
  const writer = pack()
  const source = Readable.from(tar)
  source.on('error', (error) => reader.destroy(error))
  source.pipe(reader)
  const copied = copyKept(reader, writer, rules).then(
    () => writer.finalize(),
    (error: Error) => writer.destroy(error),
  )
  try {
    for await (const chunk of writer) yield chunk as Uint8Array
    await copied
  } finally {
    source.destroy()
    reader.destroy()
    writer.destroy()
  }
}

async function copyKept(reader: ReturnType<typeof extract>, writer: ReturnType<typeof pack>, rules: IgnoreRules): Promise<void> {
  for await (const entry of reader) {
    const { header } = entry
    if (isOut(header.name, header.type === 'directory', rules)) {
      entry.resume()
      continue
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const sink = writer.entry(header, (error) => (error ? reject(error) : resolve()))
    if (header.type === 'file' || header.type === 'contiguous-file') entry.pipe(sink)
    else entry.resume()
    await promise
  }
}

/** Also when a folder that it is in is left out, whether or not the archive names that folder. */
function isOut(name: string, isFolder: boolean, rules: IgnoreRules): boolean {
  const names = name.split('/').filter((part) => part !== '' && part !== '.')
  return names.some((_, at) => rules.verdict(names.slice(0, at + 1).join('/'), isFolder || at < names.length - 1) === 'ignored')
}
