import { expect, test } from 'vitest'
import { cancelRefusal, redeployRefusal, rollbackRefusal } from './deployment-actions.ts'

test('only a running deployment can be cancelled', () => {
  expect(cancelRefusal({ status: 'building' })).toBeUndefined()
  expect(cancelRefusal({ status: 'live' })).toContain('cannot be cancelled')
  expect(redeployRefusal({ status: 'building' })).toContain('still building')
  expect(redeployRefusal({ status: 'failed' })).toBeUndefined()
})

test('only a version that was live before can be rolled back to', () => {
  expect(rollbackRefusal({ status: 'superseded' })).toBeUndefined()
  expect(rollbackRefusal({ status: 'live' })).toContain('is live')
  expect(rollbackRefusal({ status: 'failed' })).toContain('failed')
})
