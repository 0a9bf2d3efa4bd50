import { expect, test } from 'vitest'
import { checklist } from './checklist.ts'

test('the checklist stays until everything is done', () => {
  const done = { project: true, domain: true, backup: true, member: true }
  expect(checklist(done)).toEqual([])
  const open = checklist({ ...done, backup: false })
  expect(open.filter(({ isDone }) => !isDone).map(({ id }) => id)).toEqual(['backup'])
  expect(open).toHaveLength(4)
})
