import { Threads } from '../../platform/threads.ts'
import type { FolderSize, SizeTask } from './folder-size.ts'

/** One for all: the disk is one as well, and whoever measures often is not to take a second processor for it. */
const threads = new Threads<SizeTask>({
  program: new URL('./size-worker.ts', import.meta.url),
  most: 1,
  limits: { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 128 },
  failed: (words) => new Error(words),
})

/** Of several folders, in their order. A folder with tens of thousands of files takes a second, but none of the event loop's time. */
export const measureFolders = (folders: readonly string[], enoughDiskBytes = Number.POSITIVE_INFINITY): Promise<FolderSize[]> =>
  threads.run({ folders, enoughDiskBytes })

export async function measureFolder(folder: string): Promise<FolderSize> {
  const [size] = await measureFolders([folder])
  return size!
}
