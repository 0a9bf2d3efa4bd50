import { expect, test } from 'vitest'
import { cancelRefusal, redeployRefusal, rollbackRefusal } from './deployment-actions.ts'

test('what is under way can be cancelled and nothing else', () => {
  expect(cancelRefusal({ status: 'building', image: null })).toBeUndefined()
  expect(cancelRefusal({ status: 'live', image: 'i' })).toContain('nothing left to cancel')
  expect(redeployRefusal({ status: 'building', image: null })).toContain('still building')
  expect(redeployRefusal({ status: 'failed', image: null })).toBeUndefined()
})

test('only a superseded version whose image is kept can be rolled back to', () => {
  expect(rollbackRefusal({ status: 'superseded', image: 'i' })).toBeUndefined()
  expect(rollbackRefusal({ status: 'superseded', image: null })).toContain('no longer kept')
  expect(rollbackRefusal({ status: 'live', image: 'i' })).toContain('serves now')
  expect(rollbackRefusal({ status: 'failed', image: null })).toContain('failed')
})
