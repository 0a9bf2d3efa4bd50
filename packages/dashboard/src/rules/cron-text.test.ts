import { expect, test } from 'vitest'
import { readCron, scheduleText, timeInZone } from './cron-text.ts'

const from = new Date('2026-05-01T12:00:00Z')

test('the next five times of a schedule are reported, in its own time zone', () => {
  const { next, problem } = readCron('0 3 * * *', 'Europe/Berlin', from)
  expect(problem).toBeNull()
  expect(next.map((one) => one.toISOString().slice(0, 16))).toEqual([
    '2026-05-02T01:00',
    '2026-05-03T01:00',
    '2026-05-04T01:00',
    '2026-05-05T01:00',
    '2026-05-06T01:00',
  ])
  expect(timeInZone(next[0]!, 'Europe/Berlin')).toContain('03:00')
})

test('an invalid schedule reports the reason', () => {
  expect(readCron('soon', 'UTC', from).problem).toContain('Five fields')
  expect(readCron('61 * * * *', 'UTC', from).problem).toBeTruthy()
  expect(readCron('', 'UTC', from)).toEqual({ next: [], problem: null })
})

test('a schedule names its time zone, unless it is UTC', () => {
  expect(scheduleText({ cronExpression: '0 3 * * *' })).toBe('every night at 03:00')
  expect(scheduleText({ cronExpression: '0 3 * * *', timezone: 'Europe/Vienna' })).toBe('every night at 03:00 (Europe/Vienna)')
  expect(scheduleText({ cronExpression: '5 4 * * 2', timezone: 'UTC' })).toBe('5 4 * * 2')
  expect(scheduleText({ cronExpression: null })).toBe('manual only')
})
