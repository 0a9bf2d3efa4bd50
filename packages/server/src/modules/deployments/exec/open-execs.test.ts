import { limits } from '@berth/contract'
import { expect, test } from 'vitest'
import { OpenExecs } from './open-execs.ts'

/** Opens as many as it may, each in a project of its own. */
function openAll(execs: OpenExecs, organizationId: string, isShared: boolean): number {
  for (let count = 0; ; count++) {
    try {
      execs.open({ organizationId, projectId: `${organizationId} ${count}`, userId: 'usr_1', input: false, isShared })
    } catch {
      return count
    }
  }
}

test('several organisations leave slots for each other; a single one may use all', () => {
  const execs = new OpenExecs()
  expect(openAll(execs, 'greedy', true)).toBeLessThan(limits.execsOfInstance)
  expect(openAll(execs, 'other', true)).toBeGreaterThan(0)
  expect(openAll(new OpenExecs(), 'only', false)).toBe(limits.execsOfInstance)
})
