import { StoreFailure } from './store-failure.ts'

/** Maps an error of the file system to a `StoreFailure` with a message. Other errors are returned unchanged. */
export function localFailure(error: unknown, doing: string): unknown {
  if (error instanceof StoreFailure || !(error instanceof Error) || !('code' in error)) return error
  const code = String(error.code)
  const report = (reason: StoreFailure['reason'], message: string) => new StoreFailure(reason, message, { cause: error })
  if (code === 'ENOSPC' || code === 'EDQUOT') return report('full', `The disk is full: ${doing} failed`)
  if (code === 'EDQUOT' || code === 'EFBIG')
    return report('full', `The quota or file size limit of the disk is reached: ${doing} failed`)
  if (code === 'EACCES' || code === 'EPERM')
    return report('denied', `${doing} was refused: allow the user that Berth runs as to read and write this folder`)
  if (code === 'EROFS') return report('denied', `${doing} failed: the file system is mounted read-only`)
  if (code === 'ENOENT') return report('missing', `${doing}: the path does not exist`)
  if (code === 'ENOTDIR' || code === 'ELOOP') return report('denied', `${doing}: a link or a file is where a folder should be`)
  return report('other', `${doing} failed: ${code}`)
}
