import { expect, test } from 'vitest'
import { runsToPrune } from './retention.ts'

const day = 86_400_000
const now = 100 * day
const run = (id: string, daysAgo: number, locked: 0 | 1 = 0, until: number | null = null) => ({
  id,
  createdAt: now - daysAgo * day,
  protected: locked,
  protectedUntil: until,
})
const pruned = (policy: { retainCount: number | null; retainDays: number | null }, ...runs: ReturnType<typeof run>[]) =>
  runsToPrune(policy, runs, now).map(({ id }) => id)

test('by count: the newest runs are kept', () => {
  expect(pruned({ retainCount: 2, retainDays: null }, run('a', 1), run('b', 2), run('c', 3))).toEqual(['c'])
})
test('by age: older runs are pruned', () => {
  expect(pruned({ retainCount: null, retainDays: 2 }, run('a', 1), run('b', 2.5), run('c', 3))).toEqual(['b', 'c'])
})
test.each([
  ['the count keeps old ones', { retainCount: 2, retainDays: 10 }, ['c']],
  ['the days keep those beyond the count', { retainCount: 1, retainDays: 12 }, []],
  ['neither keeps them', { retainCount: 1, retainDays: 5 }, ['b', 'c']],
])('by count and age: a run is kept if either keeps it: %s', (_, policy, gone) => {
  expect(pruned(policy, run('a', 1), run('b', 11), run('c', 12))).toEqual(gone)
})
test('the eighth run of an hourly policy that keeps 30 days prunes none', () => {
  const hourly = Array.from({ length: 9 }, (_, hours) => run(`h${hours}`, hours / 24))
  expect(pruned({ retainCount: null, retainDays: 30 }, ...hourly)).toEqual([])
})
test('without a limit all runs are kept', () => {
  expect(pruned({ retainCount: null, retainDays: null }, run('a', 1), run('b', 5000))).toEqual([])
})
test('protected runs are kept without using up the count; an expired protection is ignored', () => {
  expect(pruned({ retainCount: 1, retainDays: null }, run('a', 1, 1), run('b', 2), run('c', 3), run('d', 4, 1, now - 1))).toEqual(
    ['c', 'd'],
  )
})
test('the newest run is always kept, regardless of its age', () => {
  expect(pruned({ retainCount: null, retainDays: 1 }, run('a', 50), run('b', 60))).toEqual(['b'])
})
