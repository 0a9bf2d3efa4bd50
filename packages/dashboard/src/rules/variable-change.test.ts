import { secretMask } from '@berth/contract'
import { expect, test } from 'vitest'
import { variableChange } from './variable-change.ts'

test('an empty field keeps a stored secret, and empties a visible variable', () => {
  const secret = { key: 'TOKEN', isSecret: true }
  expect(variableChange(secret, '', true)).toEqual({ key: 'TOKEN', value: secretMask, isSecret: true })
  expect(variableChange(secret, 'new', true).value).toBe('new')
  expect(variableChange({ key: 'MODE', isSecret: false }, '', true).value).toBe('')
})
