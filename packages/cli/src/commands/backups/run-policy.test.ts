import type { BackupRun } from '@berth/contract'
import { expect, test } from 'vitest'
import { runText } from './run-policy.ts'

const run = (reused: readonly boolean[], warning: string | null = null) =>
  runText({ id: 'bkr_1', artifacts: reused.map((one) => ({ reused: one })), sizeBytes: 2_000, warning } as BackupRun)

test('an unchanged artifact is one of those backed up, and is not reported as stored', () => {
  expect(run([false, false, true])).toBe(
    'bkr_1: 3 artifacts backed up and verified (2.0 kB), 1 of them unchanged since an earlier run',
  )
  expect(run([false])).toBe('bkr_1: 1 artifact backed up and verified (2.0 kB)')
  expect(run([false], 'Volumes not found')).toContain('\nWarning: Volumes not found')
})
