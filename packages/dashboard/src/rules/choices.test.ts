import { expect, test } from 'vitest'
import { isChosen } from './choices.ts'

const category = { id: 'deploy.failed', defaultEnabled: true } as const
const stamp = '2026-01-01T00:00:00Z'
const row = (enabled: boolean) => ({
  id: 's',
  category: category.id,
  channelId: 'c',
  enabled,
  createdAt: stamp,
  updatedAt: stamp,
})

test('an explicit choice beats the default, in both directions', () => {
  const mail = { id: 'c', kind: 'email' } as const
  const off = [{ category: category.id, defaultEnabled: false, updatedAt: stamp }]
  expect(isChosen(category, mail, [], [])).toBe(true)
  expect(isChosen(category, mail, [], off)).toBe(false)
  expect(isChosen(category, mail, [row(true)], off)).toBe(true)
  expect(isChosen(category, mail, [row(false)], [])).toBe(false)
  expect(isChosen(category, { id: 'c', kind: 'slack' }, [], [])).toBe(false)
})
