import { expect, test } from 'vitest'
import { InvalidRecurrence, nextOccurrence, occurrencesUntil } from './occurrences.ts'

const after = new Date('2030-01-01T00:00:00Z')
const iso = (time: Date | null) => time?.toISOString() ?? null

test.each([
  ['0 3 * * *', '2030-01-01T03:00:00.000Z'],
  ['0 3 * * SUN', '2030-01-06T03:00:00.000Z'],
  ['0 0 1 FEB *', '2030-02-01T00:00:00.000Z'],
  ['*/15 * * * *', '2030-01-01T00:15:00.000Z'],
  ['@daily', '2030-01-02T00:00:00.000Z'],
  ['@weekly', '2030-01-06T00:00:00.000Z'],
])('%s occurs next at %s', (cron, expected) => {
  expect(iso(nextOccurrence({ cron }, after))).toBe(expected)
})

test.each([['soon'], [''], ['* * * *'], ['* * * * * *'], ['61 * * * *'], ['0 0 32 * *'], ['@sometimes']])(
  'the cron expression %j is refused with the field cron',
  (cron) => {
    expect(() => nextOccurrence({ cron }, after)).toThrow(InvalidRecurrence)
    expect(() => nextOccurrence({ cron }, after)).toThrow(/cron expression/)
  },
)

test('an unknown time zone is refused with the field timezone', () => {
  const failing = () => nextOccurrence({ cron: '0 3 * * *', timezone: 'Atlantis/Capital' }, after)
  expect(failing).toThrow(expect.objectContaining({ name: 'InvalidRecurrence', field: 'timezone' }))
})

test.each([[0], [-5], [1.5], [Number.NaN]])('an interval of %d seconds is refused', (everySeconds) => {
  expect(() => nextOccurrence({ everySeconds }, after)).toThrow(InvalidRecurrence)
})

test('a date that never occurs has no next time', () => {
  expect(nextOccurrence({ cron: '0 0 30 2 *' }, after)).toBeNull()
})

test('a local time that DST skips still runs that day', () => {
  const recurrence = { cron: '30 2 * * *', timezone: 'Europe/Berlin' }
  const day = nextOccurrence(recurrence, new Date('2030-03-31T00:00:00Z'))
  expect(iso(day)?.slice(0, 10)).toBe('2030-03-31')
})

test('the times missed during a downtime are listed from the first on, up to a limit', () => {
  const until = new Date('2030-01-01T03:59:00Z')
  const times = occurrencesUntil({ cron: '0 * * * *' }, new Date('2030-01-01T01:00:00Z'), until)
  expect(times.map(iso)).toEqual(['2030-01-01T01:00:00.000Z', '2030-01-01T02:00:00.000Z', '2030-01-01T03:00:00.000Z'])
  expect(occurrencesUntil({ everySeconds: 1 }, after, new Date('2040-01-01'), 10)).toHaveLength(10)
})
