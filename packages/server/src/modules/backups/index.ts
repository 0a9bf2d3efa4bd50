import type { BackupsDeps } from './deps.ts'
import { backupsHandlers } from './handlers.ts'
import { backupsLoaders } from './loaders.ts'

export type { BackupsDeps } from './deps.ts'

/**
 * Saving projects and bringing them back. A *policy* binds a project to a *destination*; a *run* of it stores *parts* there
 * and a *manifest* last, and has succeeded only when all of it was read back. A *restore* is staged from a run, verified,
 * and applied with a token that is shown once.
 */
export function createBackups(deps: BackupsDeps) {
  return {
    handlers: backupsHandlers(deps),
    loaders: backupsLoaders(deps),
  }
}
