import { type Transfer, transferPhases } from '@berth/contract'

/** The steps of a transfer to the cloud or back, in order. */
const steps: readonly (readonly [Transfer['phase'], string])[] = [
  ['packing', 'Exporting (the project stays live)'],
  ['sending', 'Sending'],
  ['staging', 'Building at the target'],
  ['releasing', 'Stopping at the source'],
  ['catching_up', 'Sending recent changes'],
  ['landing', 'Starting at the target'],
  ['committing', 'Switching over'],
  ['settling', 'Switching over'],
]

const endTexts: Partial<Record<Transfer['phase'], string>> = {
  done: 'Transferred',
  undoing: 'Rolling back: the project stays at its source',
  failed: 'The transfer failed; the project is live at its source',
}

export const transferText = (phase: Transfer['phase']): string =>
  steps.find(([name]) => name === phase)?.[1] ?? endTexts[phase] ?? phase

/** Progress in percent: the step and, within a step that sends, its bytes. */
export function transferPercent({ phase, bytesDone, bytesTotal }: Pick<Transfer, 'phase' | 'bytesDone' | 'bytesTotal'>): number {
  const at = steps.findIndex(([name]) => name === phase)
  if (at < 0) return 100
  const within = isSending(phase) && bytesTotal ? Math.min(1, bytesDone / bytesTotal) : 0
  return Math.round((100 * (at + within)) / steps.length)
}

export const isSending = (phase: Transfer['phase']): boolean => phase === 'sending' || phase === 'catching_up'

/** True until the switch to the target begins. */
export const canBeCancelled = (phase: Transfer['phase']): boolean =>
  transferPhases.indexOf(phase) < transferPhases.indexOf('committing')
