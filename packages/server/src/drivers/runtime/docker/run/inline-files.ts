import { Readable } from 'node:stream'
import { pack } from 'tar-stream'
import type { InlineFile } from '../../runtime.ts'

/** Archive of files for a container that was created but not started. They exist only in this container. */
export function archiveOf(files: readonly InlineFile[]): Readable {
  const archive = pack()
  for (const { path, content, mode, uid, gid } of files)
    archive.entry({ name: path.replace(/^\/+/, ''), mode, uid, gid }, Buffer.from(content))
  archive.finalize()
  return Readable.from(archive)
}
