import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { TarballLimits } from './read-tarball.ts'
import { unpackTarball } from './unpack-tarball.ts'

/** Folder that `packFolder` puts around a single folder; it is not the project's name. */
export const wrapperName = '.berth-source'

/**
 * Unpacks an upload as a project's source: a single top-level folder becomes the root, and its name is returned. `intoFolder`
 * must not exist before, and does not exist after a failure.
 */
export async function unpackSource(
  file: string,
  intoFolder: string,
  limits: TarballLimits = {},
): Promise<{ rootName: string | null }> {
  const unpackedFolder = `${intoFolder}.whole`
  try {
    const { commonRoot } = await unpackTarball(file, unpackedFolder, limits)
    await rename(commonRoot === null ? unpackedFolder : join(unpackedFolder, commonRoot), intoFolder)
    return { rootName: commonRoot === wrapperName ? null : commonRoot }
  } finally {
    await rm(unpackedFolder, { recursive: true, force: true, maxRetries: 3 })
  }
}
