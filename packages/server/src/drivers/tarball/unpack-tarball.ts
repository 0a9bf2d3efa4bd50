import { link, mkdir, open, symlink, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stageFolder } from '../folder/staged-folder.ts'
import type { CheckedEntry } from './archive-tree.ts'
import { drain, readTarball, type TarballLimits, type TarballSummary } from './read-tarball.ts'
import { BadEntry } from './tarball-errors.ts'

/** All checks of `unpackTarball` without writing anything. */
export const inspectTarball = (file: string, limits: TarballLimits = {}): Promise<TarballSummary> =>
  readTarball(file, limits, (_entry, content) => drain(content))

/** `intoFolder` (missing or empty before) holds the whole archive afterwards, or nothing is left behind. */
export const unpackTarball = (file: string, intoFolder: string, limits: TarballLimits = {}): Promise<TarballSummary> =>
  stageFolder(intoFolder, (staging) =>
    readTarball(file, limits, async (entry, content) => {
      await write(entry, staging, content).catch((error) => {
        throw explain(entry, error)
      })
    }),
  )

/** Everything is made exclusively: nothing is ever written into what is there, be it a link that another spelling of a name reaches. */
async function write(entry: CheckedEntry, root: string, content: AsyncIterable<Uint8Array>): Promise<void> {
  for (const folder of entry.newFolders) await mkdir(join(root, folder), { mode: 0o755 })
  const path = join(root, entry.path)
  if (entry.kind === 'file') return createFile(entry, path, content)
  if (entry.kind === 'symlink') await symlink(entry.target, path)
  if (entry.kind === 'hardlink') await link(join(root, entry.target), path)
  await drain(content)
}

async function createFile(
  entry: CheckedEntry & { kind: 'file' },
  path: string,
  content: AsyncIterable<Uint8Array>,
): Promise<void> {
  if (entry.replaces) await unlink(path)
  const file = await open(path, 'wx', entry.executable ? 0o755 : 0o644)
  try {
    await writeFile(file, content)
  } finally {
    await file.close()
  }
}

function explain(entry: CheckedEntry, error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EEXIST')
    return new BadEntry(entry.path, 'has the name of another entry on this file system, which takes both for one')
  if (code === 'ENAMETOOLONG') return new BadEntry(entry.path, 'has a name that is too long')
  if (code === 'EILSEQ' || code === 'EINVAL') return new BadEntry(entry.path, 'has a name that this file system does not take')
  return error
}
