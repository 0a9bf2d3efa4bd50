import { type Header, pack } from 'tar-stream'
import { expect, test } from 'vitest'
import { difference, filesIn } from './file-list.ts'

type File = Partial<Header> & { name: string } & { content?: string }

async function tarOf(file: File | null): Promise<AsyncIterable<Uint8Array>> {
  const archive = pack()
  if (file) {
    const { content, ...header } = file
    archive.entry({ mtime: new Date(1_000_000), mode: 0o644, ...header }, content ?? '')
  }
  archive.finalize()
  return archive as AsyncIterable<Uint8Array>
}

const file: File = { name: 'a.txt', content: 'as it was' }
const changes: [string, File | null, [added: number, changed: number, removed: number]][] = [
  ['nothing', file, [0, 0, 0]],
  ['its time', { ...file, mtime: new Date(2_000_000) }, [0, 0, 0]],
  ['its content, at the same size and time', { ...file, content: 'as it is.' }, [0, 1, 0]],
  ['its size', { ...file, content: 'longer than before' }, [0, 1, 0]],
  ['its mode', { ...file, mode: 0o755 }, [0, 1, 0]],
  ['its kind', { name: 'a.txt', type: 'symlink', linkname: 'b.txt' }, [0, 1, 0]],
  ['its name', { ...file, name: 'b.txt' }, [1, 0, 1]],
  ['that it is gone', null, [0, 0, 1]],
]

test.each(changes)('a file that differs by %s', async (_, next, [filesAdded, filesChanged, filesRemoved]) => {
  const [now, then] = [await filesIn(await tarOf(file)), await filesIn(await tarOf(next))]
  expect(difference(now.files, then.files)).toEqual({ filesAdded, filesChanged, filesRemoved })
})
