import { transferPhases } from '@berth/contract'
import { expect, test } from 'vitest'
import { transferPercent, transferText } from './transfer-text.ts'

test('the progress of a transfer never decreases, and its bytes count within the sending phase', () => {
  const shares = (
    ['packing', 'sending', 'staging', 'releasing', 'catching_up', 'landing', 'committing', 'settling'] as const
  ).map((phase) => transferPercent({ phase, bytesDone: 5, bytesTotal: 10 }))
  expect(shares).toEqual([...shares].sort((a, b) => a - b))
  expect(transferPercent({ phase: 'sending', bytesDone: 10, bytesTotal: 10 })).toBe(
    transferPercent({ phase: 'staging', bytesDone: 10, bytesTotal: 10 }),
  )
  expect(transferPercent({ phase: 'sending', bytesDone: 0, bytesTotal: null })).toBeLessThan(100)
  expect(transferPercent({ phase: 'done', bytesDone: 10, bytesTotal: 10 })).toBe(100)
})

test('every phase has a text', () => {
  for (const phase of transferPhases) expect(transferText(phase)).toMatch(/^[A-Z]/)
})
