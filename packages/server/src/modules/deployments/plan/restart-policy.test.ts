import { expect, test } from 'vitest'
import { shouldRestart } from '../../../drivers/runtime/restart-policy.ts'
import { policyOf, restartOf } from './restart-policy.ts'

test.each([
  [null, 'no', true],
  ['', 'no', true],
  ['no', 'no', undefined],
  ['always', 'always', undefined],
  ['unless-stopped', 'always', undefined],
  ['on-failure', 'on-failure', true],
  ['sometimes', 'no', true],
])('restart %j is %s, as in Compose', (written, name, staysUp) => {
  const restarts = restartOf(written)
  expect([policyOf(restarts).name, restarts.staysUp]).toEqual([name, staysUp])
})

test('on-failure restarts after a failure up to its count, and never after a success', () => {
  const policy = policyOf(restartOf('on-failure:2'))
  expect([0, 1, 2].map((restarts) => shouldRestart(policy, 1, restarts))).toEqual([true, true, false])
  expect(shouldRestart(policy, 0, 0)).toBe(false)
  // As Docker reads it.
  expect(shouldRestart(policyOf(restartOf('on-failure:0')), 1, 99)).toBe(true)
})
