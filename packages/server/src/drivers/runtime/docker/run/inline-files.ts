import { Readable } from 'node:stream'
import { smallTar, textEntry } from '../../../tar/write-tar.ts'
import type { InlineFile } from '../../runtime.ts'

/** Archive of files for a container that was created but not started. They exist only in this container. */
export function archiveOf(files: readonly InlineFile[]): Readable {
  const entries = files.map(({ path, content, mode, uid, gid }) =>
    textEntry({ name: path.replace(/^\/+/, ''), mode, uid, gid }, Buffer.from(content)),
  )
  return Readable.from([smallTar(...entries)])
}
