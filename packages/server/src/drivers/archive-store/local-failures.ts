import { StoreFailure } from './store-failure.ts'

/**
 * Maps an error of the file system to a `StoreFailure` with a message. Other errors are returned unchanged. `doing` names the
 * failed operation: `writing /backups/x`.
 */
export function localFailure(error: unknown, doing: string): unknown {
  if (error instanceof StoreFailure || !(error instanceof Error) || !('code' in error)) return error
  const code = String(error.code)
  const report = (reason: StoreFailure['reason'], message: string) => new StoreFailure(reason, message, { cause: error })
  if (code === 'ENOSPC') return report('full', `The disk is full: ${doing} failed`)
  if (code === 'EDQUOT' || code === 'EFBIG')
    return report('full', `The quota or file size limit of the disk is reached: ${doing} failed`)
  if (code === 'EACCES' || code === 'EPERM')
    return report(
      'denied',
      `Permission denied: ${doing} failed. Allow the user that Berth runs as to read and write this folder.`,
    )
  if (code === 'EROFS') return report('denied', `The file system is mounted read-only: ${doing} failed`)
  if (code === 'ENOENT') return report('missing', `The path does not exist: ${doing} failed`)
  if (code === 'ENOTDIR' || code === 'ELOOP')
    return report('denied', `A link or a file is where a folder should be: ${doing} failed`)
  return report('other', `The file system reported ${code}: ${doing} failed`)
}
