import { expect, test } from 'vitest'
import { cancelledText, deletionQuery } from './running-operations.ts'

const operations = ['deployment', 'backup'].map((kind) => ({ kind, status: 'running' }))

test('a deletion that cancels operations names them', () => {
  expect(cancelledText([])).toBeNull()
  expect(deletionQuery(true, [])).toEqual({ deleteVolumes: true })
  expect(cancelledText(operations.slice(0, 1))).toBe('deployment (running): it is cancelled first.')
  expect(cancelledText(operations)).toBe('deployment (running), backup (running): they are cancelled first.')
  expect(deletionQuery(false, operations)).toEqual({ deleteVolumes: false, force: true })
})
