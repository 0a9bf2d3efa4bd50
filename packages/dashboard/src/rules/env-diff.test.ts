import { secretMask } from '@berth/contract'
import { expect, test } from 'vitest'
import { envDiff } from './env-diff.ts'

const stored = (key: string, value: string, isSecret = false) => ({
  key,
  value,
  isSecret,
  environment: 'production',
  updatedAt: '',
})

test('the diff names what is added, changed and removed; a mask left alone changes nothing', () => {
  const now = [stored('A', '1'), stored('B', '2'), stored('S', secretMask, true)]
  const wanted = [
    { key: 'A', value: '1' },
    { key: 'S', value: secretMask },
    { key: 'C', value: '' },
  ]
  expect(envDiff(now, wanted)).toEqual({ added: [{ key: 'C', value: '' }], changed: [], removed: ['B'] })
  expect(envDiff(now, [{ key: 'S', value: 'new' }]).changed).toEqual([{ key: 'S', value: 'new' }])
})
