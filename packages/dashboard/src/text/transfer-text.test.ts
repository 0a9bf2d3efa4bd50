import { transferPhases } from '@berth/contract'
import { expect, test } from 'vitest'
import { transferPercent, transferText } from './transfer-text.ts'

test('a move never seems to go back, and its bytes count within the step that sends them', () => {
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

test('every phase has a plain text', () => {
  for (const phase of transferPhases) expect(transferText(phase)).toMatch(/^[A-Z]/)
})
