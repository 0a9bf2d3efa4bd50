import type { BackupRestore, RestoreReport } from '@berth/contract'
import { plural, sizeWords } from './sizes.ts'

type Change = RestoreReport['changes'][number]

export function changeWords({ action, currentBytes, newBytes, filesAdded, filesChanged, filesRemoved }: Change): string {
  if (action === 'keep') return 'stays as it is'
  const sizes = currentBytes === null ? sizeWords(newBytes) : `${sizeWords(currentBytes)} → ${sizeWords(newBytes)}`
  const files = [
    filesAdded !== null && `${plural(filesAdded, 'file')} added`,
    filesChanged !== null && `${filesChanged} changed`,
    filesRemoved !== null && `${filesRemoved} removed`,
  ].filter(Boolean)
  return `${action === 'create' ? 'is created' : 'is replaced'}: ${[sizes, ...files].join(', ')}`
}

/** The state of the data after a restore, successful or not. */
export const dataStateWords: Record<BackupRestore['dataState'], string> = {
  untouched: 'The data was not touched.',
  partly_written: 'Some of the data was written: restore again, or undo.',
  restored: 'The data is as it was in the backup.',
  undone: 'The data is as it was before.',
}
