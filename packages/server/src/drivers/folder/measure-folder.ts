import { Threads } from '../../platform/threads.ts'
import type { FolderSize, SizeTask } from './folder-size.ts'

/** A single thread for all: it is limited by the disk, and frequent measurements must not occupy a second CPU core. */
const threads = new Threads<SizeTask>({
  program: new URL('./size-worker.ts', import.meta.url),
  max: 1,
  limits: { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 128 },
  failed: (message) => new Error(message),
})

/**
 * Sizes of several folders, in order. A folder with tens of thousands of files takes a second, but does not block the event
 * loop.
 */
export const measureFolders = (folders: readonly string[], maxDiskBytes = Number.POSITIVE_INFINITY): Promise<FolderSize[]> =>
  threads.run({ folders, maxDiskBytes })

export async function measureFolder(folder: string): Promise<FolderSize> {
  const [size] = await measureFolders([folder])
  return size!
}
