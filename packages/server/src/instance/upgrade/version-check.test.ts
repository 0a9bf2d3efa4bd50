import { expect, test } from 'vitest'
import { createVersionCheck } from './version-check.ts'

const hour = 3_600_000
const settled = () => new Promise((resolve) => setImmediate(resolve))

function scene(newer: () => Promise<readonly string[]>) {
  let now = Date.parse('2026-01-01T00:00:00Z')
  let requests = 0
  const request = () => {
    requests++
    return newer()
  }
  const check = createVersionCheck('1.0.0', request, { now: () => new Date(now) })
  const pass = (ms: number) => {
    now += ms
  }
  return { check, pass, requests: () => requests }
}

test('the first call starts the check and does not wait for it; a day later it is repeated', async () => {
  let newer = ['1.2.0', '1.1.0']
  const { check, pass, requests } = scene(async () => newer)
  expect(check()).toEqual({ version: '1.0.0', isChecked: true, newest: null, checkedAt: null, problem: null })
  check()
  await settled()
  expect([check().newest, check().checkedAt, requests()]).toEqual(['1.2.0', '2026-01-01T00:00:00.000Z', 1])
  newer = []
  pass(23 * hour)
  check()
  expect(requests()).toBe(1)
  pass(hour)
  check()
  await settled()
  expect([check().newest, requests()]).toEqual([null, 2])
})

test('a check that failed says why, keeps the version that was found, and is repeated after an hour', async () => {
  let isDown = false
  const { check, pass, requests } = scene(async () => {
    if (isDown) throw new Error('npm view failed')
    return ['1.2.0']
  })
  check()
  await settled()
  isDown = true
  pass(24 * hour)
  check()
  await settled()
  expect(check()).toMatchObject({ newest: '1.2.0', problem: 'npm view failed' })
  pass(hour)
  isDown = false
  check()
  await settled()
  expect([check().problem, requests()]).toEqual([null, 3])
})

test('without a registry nothing is checked', async () => {
  const check = createVersionCheck('1.0.0', undefined, { now: () => new Date() })
  check()
  await settled()
  expect(check()).toEqual({ version: '1.0.0', isChecked: false, newest: null, checkedAt: null, problem: null })
})
