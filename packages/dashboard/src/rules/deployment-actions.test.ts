import { expect, test } from 'vitest'
import { canCancel, redeployRefusal, rollbackRefusal } from './deployment-actions.ts'

test('only a running deployment can be cancelled', () => {
  expect(canCancel({ status: 'building' })).toBe(true)
  expect(canCancel({ status: 'live' })).toBe(false)
  expect(redeployRefusal({ status: 'building' })).toContain('still building')
  expect(redeployRefusal({ status: 'failed' })).toBeUndefined()
})

test('only a version that was live before can be rolled back to', () => {
  expect(rollbackRefusal({ status: 'superseded' })).toBeUndefined()
  expect(rollbackRefusal({ status: 'failed' })).toContain('failed')
})
