import type { FolderFile } from './folder-files.ts'

const blockBytes = 512
const encoder = new TextEncoder()

/** Packs the files into a gzipped tarball. Files are read in chunks, so that memory does not grow with the folder. */
export async function packTarball(files: readonly FolderFile[], onPacked: (bytes: number) => void): Promise<Blob> {
  const chunks = tarChunks(files, onPacked)
  const tar = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const { done, value } = await chunks.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
  })
  return new Response(tar.pipeThrough(new CompressionStream('gzip'))).blob()
}

async function* tarChunks(
  files: readonly FolderFile[],
  onPacked: (bytes: number) => void,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  for (const { path, file } of files) {
    yield* headers(path, file)
    const reader = file.stream().getReader()
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      yield chunk.value
      onPacked(chunk.value.length)
    }
    yield new Uint8Array(padding(file.size))
  }
  yield new Uint8Array(2 * blockBytes)
}

const padding = (size: number) => (blockBytes - (size % blockBytes)) % blockBytes

/** A name that is over 100 bytes or not ASCII is written as a pax record before the file's header. */
function* headers(path: string, file: File): Generator<Uint8Array<ArrayBuffer>, void> {
  const name = encoder.encode(path)
  const fitsHeader = name.length <= 100 && name.length === path.length
  if (!fitsHeader) {
    const record = paxRecord('path', path)
    yield header('pax', record.length, 'x', file)
    yield record
    yield new Uint8Array(padding(record.length))
  }
  yield header(fitsHeader ? path : 'long-name', file.size, '0', file)
}

/** `<length> key=value\n`, where the length counts its own digits. */
function paxRecord(key: string, value: string): Uint8Array<ArrayBuffer> {
  const rest = encoder.encode(` ${key}=${value}\n`).length
  let length = rest + String(rest).length
  if (String(length).length !== String(rest).length) length = rest + String(length).length
  return encoder.encode(`${length} ${key}=${value}\n`)
}

function header(name: string, size: number, type: '0' | 'x', file: File): Uint8Array<ArrayBuffer> {
  const block = new Uint8Array(blockBytes)
  const put = (text: string, at: number) => block.set(encoder.encode(text), at)
  const octal = (value: number, digits: number, at: number) => put(`${value.toString(8).padStart(digits, '0')}\0`, at)
  put(name, 0)
  octal(0o644, 7, 100)
  octal(0, 7, 108)
  octal(0, 7, 116)
  octal(size, 11, 124)
  octal(Math.floor(file.lastModified / 1000), 11, 136)
  put(' '.repeat(8), 148)
  put(type, 156)
  put('ustar\0', 257)
  put('00', 263)
  octal(
    block.reduce((sum, byte) => sum + byte, 0),
    6,
    148,
  )
  put(' ', 155)
  return block
}
