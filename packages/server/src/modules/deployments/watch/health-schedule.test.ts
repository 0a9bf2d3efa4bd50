import { expect, test } from 'vitest'
import { HealthSchedule } from './health-schedule.ts'

const rounds = () => new HealthSchedule({ firstMs: 5_000, maxMs: 30_000 }, () => 0.5)
const all = (...names: string[]) => new Map(names.map((name) => [name, 'dep_1']))

/** The times of the checks, in seconds, of a key whose checks always return `isWell`. */
function checks(one: HealthSchedule, isWell: boolean, seconds: number): number[] {
  const found: number[] = []
  for (let at = 0; at <= seconds; at++)
    for (const key of one.due(at * 1000)) {
      found.push(at)
      one.startCheck(key)(isWell, at * 1000)
    }
  return found
}

test('while all checks pass, the interval grows up to a limit', () => {
  const one = rounds()
  one.setKeys(all('a'), 0)
  const at = checks(one, true, 300)
  const pauses = at.slice(1).map((time, index) => time - at[index]!)
  expect(pauses.slice(0, 4)).toEqual([8, 12, 17, 26])
  expect(new Set(pauses.slice(5))).toEqual(new Set([30]))
})

test('an unhealthy instance is checked at the shortest interval', () => {
  const one = rounds()
  one.setKeys(all('a'), 0)
  expect(checks(one, false, 30).slice(0, 4)).toEqual([4, 9, 14, 19])
})

test('an event makes the next check of that instance due at once, even during a check', () => {
  const one = rounds()
  one.setKeys(all('a', 'b'), 0)
  checks(one, true, 200)
  one.checkNow('a', 201_000)
  expect(one.due(201_000)).toContain('a')
  const end = one.startCheck('a')
  one.checkNow('a', 201_500)
  expect(one.due(201_500)).not.toContain('a')
  end(true, 202_000)
  expect(one.due(202_000)).toContain('a')
})

test('a hanging check does not delay other checks', () => {
  const one = rounds()
  one.setKeys(all('hung', 'well'), 0)
  expect(one.due(5_000)).toEqual(['hung', 'well'])
  one.startCheck('hung')
  one.startCheck('well')(true, 5_000)
  expect(one.due(60_000)).toEqual(['well'])
})

test('another version starts with the first interval; removed instances are not checked', () => {
  const one = rounds()
  one.setKeys(all('a', 'b'), 0)
  checks(one, true, 200)
  one.setKeys(new Map([['a', 'dep_2']]), 200_000)
  expect(one.due(205_000)).toEqual(['a'])
})

test('checks that were due together spread out', () => {
  const chances = [0.5, 0.5, 0, 1]
  const two = new HealthSchedule({ firstMs: 5_000, maxMs: 30_000 }, () => chances.shift() ?? 0.5)
  two.setKeys(all('a', 'b'), 0)
  for (const key of two.due(5_000)) two.startCheck(key)(true, 5_000)
  expect(two.due(5_000 + 7_500 * 0.95)).toEqual(['a'])
  expect(two.due(5_000 + 7_500 * 1.15)).toEqual(['a', 'b'])
})
