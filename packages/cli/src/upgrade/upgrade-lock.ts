import { type FileLock, takeFileLock } from '@berth/server/file-lock'
import { CliError } from '../exit-codes.ts'
import { lockFile } from './upgrade-files.ts'

/** Allows one upgrade of a data folder at a time. The lock ends with its process. */
export function lockUpgrades(dataDir: string): FileLock {
  const lock = takeFileLock(lockFile(dataDir))
  if (!lock) throw new CliError('Another upgrade of this instance is running. Wait until it has ended.', 6)
  return lock
}
