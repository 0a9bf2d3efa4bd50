import { link, mkdir, open, symlink, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stageFolder } from '../folder/staged-folder.ts'
import type { CheckedEntry } from './archive-tree.ts'
import { drain, readTarball, type TarballLimits, type TarballSummary } from './read-tarball.ts'
import { BadEntry } from './tarball-errors.ts'

/** Runs all checks of `unpackTarball` without writing anything. */
export const inspectTarball = (file: string, limits: TarballLimits = {}): Promise<TarballSummary> =>
  readTarball(file, limits, (_entry, content) => drain(content))

/** Unpacks the whole archive into `intoFolder`, which must be missing or empty; on a failure nothing is left behind. */
export const unpackTarball = (file: string, intoFolder: string, limits: TarballLimits = {}): Promise<TarballSummary> =>
  stageFolder(intoFolder, (staging) =>
    readTarball(file, limits, async (entry, content) => {
      await write(entry, staging, content).catch((error) => {
        throw explain(entry, error)
      })
    }),
  )

/**
 * Creates every file exclusively. An existing file is never written to, even on a file system where two spellings of a name
 * (`A` and `a`) are the same file.
 */
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
  if (code === 'EEXIST') return new BadEntry(entry.path, 'has the same name as another entry on this file system')
  if (code === 'ENAMETOOLONG') return new BadEntry(entry.path, 'has a name that is too long')
  if (code === 'EILSEQ' || code === 'EINVAL') return new BadEntry(entry.path, 'has a name that this file system does not support')
  return error
}
