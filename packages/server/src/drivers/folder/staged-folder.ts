import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Another call of this process is filling the same folder. */
export class FolderBusy extends Error {
  override readonly name = 'FolderBusy'

  constructor(target: string) {
    super(`Another operation is writing to ${target}. Try again when it has finished.`)
  }
}

export class FolderNotEmpty extends Error {
  override readonly name = 'FolderNotEmpty'

  constructor(target: string) {
    super(`${target} already contains files`)
  }
}

const activeTargets = new Set<string>()

/**
 * Fills a folder beside `target` and renames it into place: `target` is complete or does not exist. The next attempt removes
 * what a killed process left.
 */
export async function stageFolder<Result>(target: string, fill: (staging: string) => Promise<Result>): Promise<Result> {
  if (activeTargets.has(target)) throw new FolderBusy(target)
  activeTargets.add(target)
  const staging = `${target}.partial`
  try {
    await refuseNonEmpty(target)
    await removeTree(staging)
    await mkdir(dirname(target), { recursive: true })
    await mkdir(staging, { mode: 0o700 })
    const result = await fill(staging)
    await rename(staging, target)
    return result
  } finally {
    await removeTree(staging).finally(() => activeTargets.delete(target))
  }
}

const removeTree = (path: string) => rm(path, { recursive: true, force: true, maxRetries: 3 })

async function refuseNonEmpty(target: string): Promise<void> {
  const entries = await readdir(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  if (entries.length > 0) throw new FolderNotEmpty(target)
}
