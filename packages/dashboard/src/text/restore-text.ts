import type { BackupRestore, RestoreReport } from '@berth/contract'
import { plural, sizeText } from './sizes.ts'

type Change = RestoreReport['changes'][number]

export function changeText({ action, currentBytes, newBytes, filesAdded, filesChanged, filesRemoved }: Change): string {
  if (action === 'keep') return 'unchanged'
  // Both sides are counted file by file in the same way, so equal counts mean equal data.
  if (action === 'replace' && filesAdded === 0 && filesChanged === 0 && filesRemoved === 0)
    return `is identical to the backup: ${sizeText(newBytes)}`
  const sizes = currentBytes === null ? sizeText(newBytes) : `${sizeText(currentBytes)} → ${sizeText(newBytes)}`
  const files = [
    filesAdded !== null && `${plural(filesAdded, 'file')} added`,
    filesChanged !== null && `${filesChanged} changed`,
    filesRemoved !== null && `${filesRemoved} removed`,
  ].filter(Boolean)
  return `${action === 'create' ? 'is created' : 'is replaced'}: ${[sizes, ...files].join(', ')}`
}

/** The state of the data after a restore, successful or not. */
export const dataStateText: Record<BackupRestore['dataState'], string> = {
  untouched: 'The data was not changed.',
  partly_written: 'The data was partly replaced. Restore again, or undo.',
  restored: 'The data was restored from the backup.',
  undone: 'The previous data was put back.',
}
