import { Readable } from 'node:stream'
import { pack } from 'tar-stream'
import type { InlineFile } from '../../runtime.ts'

/** Files for a container that was made and not started yet. They are part of it alone, and go with it. */
export function archiveOf(files: readonly InlineFile[]): Readable {
  const archive = pack()
  for (const { path, content, mode, uid, gid } of files)
    archive.entry({ name: path.replace(/^\/+/, ''), mode, uid, gid }, Buffer.from(content))
  archive.finalize()
  return Readable.from(archive)
}
