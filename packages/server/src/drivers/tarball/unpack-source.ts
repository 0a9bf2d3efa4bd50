import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { TarballLimits } from './read-tarball.ts'
import { unpackTarball } from './unpack-tarball.ts'

/**
 * Unpacks an upload as a project's source: a single folder that holds everything is the project itself, and gives back its
 * name. `intoFolder` is missing before; after a failure it is, too.
 */
export async function unpackSource(
  file: string,
  intoFolder: string,
  limits: TarballLimits = {},
): Promise<{ rootName: string | null }> {
  const whole = `${intoFolder}.whole`
  try {
    const { commonRoot } = await unpackTarball(file, whole, limits)
    await rename(commonRoot === null ? whole : join(whole, commonRoot), intoFolder)
    return { rootName: commonRoot }
  } finally {
    await rm(whole, { recursive: true, force: true, maxRetries: 3 })
  }
}
