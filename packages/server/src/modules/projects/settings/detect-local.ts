import type { UpdateProject } from '@berth/contract'
import { FolderLimitExceeded, folderReader } from '../../../drivers/reader/folder-reader.ts'
import { TooManyWaiting } from '../../../drivers/reader/reader-queue.ts'
import { fail, refuse } from '../../../platform/failure.ts'
import type { Detection } from '../../../source/detection/index.ts'
import { RootDirectoryError } from '../../../source/detection/root-directory-error.ts'

type DetectionSettings = Pick<UpdateProject, 'rootDirectory' | 'framework' | 'packageManager'>

/** Detects a folder of this machine that the caller may read. */
export async function detectLocal(folder: string, organizationId: string, settings: DetectionSettings = {}): Promise<Detection> {
  const { rootDirectory, framework, packageManager } = settings
  try {
    return await folderReader.detect(folder, {
      organizationId,
      ...(rootDirectory ? { rootDirectory } : {}),
      ...(framework ? { framework } : {}),
      ...(packageManager ? { packageManager } : {}),
    })
  } catch (error) {
    if (error instanceof RootDirectoryError) refuse('rootDirectory', error.message)
    if (error instanceof FolderLimitExceeded) fail('source_unreadable', { message: error.message, cause: error })
    if (error instanceof TooManyWaiting) fail('rate_limited', { message: error.message, cause: error })
    throw error
  }
}
