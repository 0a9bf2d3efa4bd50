import { expect, test } from 'vitest'
import { applyRefusal, percentOf, restoreRefusal, runCancelRefusal, runLabels } from './backup-actions.ts'

test('only a run that succeeded and still has its bytes can be restored', () => {
  expect(restoreRefusal({ status: 'succeeded', prunedAt: null })).toBeUndefined()
  expect(restoreRefusal({ status: 'succeeded', prunedAt: '2026-01-01T00:00:00Z' })).toContain('pruned')
  expect(restoreRefusal({ status: 'uploading', prunedAt: null })).toContain('still running')
  expect(restoreRefusal({ status: 'failed', prunedAt: null })).toContain('Only a successful run')
  expect(runCancelRefusal({ status: 'uploading' })).toBeUndefined()
  expect(runCancelRefusal({ status: 'succeeded' })).toBeTruthy()
})

test('a restore is applied once it is staged and its check has passed', () => {
  const passed = { status: 'passed', bytesDone: 1, bytesTotal: 1 } as const
  expect(applyRefusal({ status: 'staged', verification: passed })).toBeUndefined()
  expect(applyRefusal({ status: 'staged', verification: { ...passed, status: 'running' } })).toContain('being checked')
  expect(applyRefusal({ status: 'failed', verification: passed })).toContain('failed')
  expect(percentOf(5, 10)).toBe(50)
  expect(percentOf(5, null)).toBeNull()
})

test('a run that succeeded was read back', () => {
  const run = { status: 'succeeded', proven: false, protected: false, prunedAt: null } as const
  expect(runLabels(run)).toEqual(['read back'])
  expect(runLabels({ ...run, proven: true, protected: true })).toEqual(['read back', 'proven', 'protected'])
  expect(runLabels({ ...run, status: 'failed' })).toEqual([])
})
