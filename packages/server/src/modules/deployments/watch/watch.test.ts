import { expect, test } from 'vitest'
import type { Instance } from '../../../drivers/runtime/runtime.ts'
import { problemIn } from '../health/instance-problems.ts'
import { actionFor, maxIntervalFor } from './watch.ts'

const instance = (changes: Partial<Instance> = {}): Instance => ({
  instanceId: 'ins_a',
  owner: { projectId: 'prj_a', deploymentId: 'dep_a', environment: 'production' },
  service: '',
  state: 'running',
  address: { host: '127.0.0.1', port: 3000 },
  startedAt: null,
  exitCode: null,
  outOfMemory: false,
  restarts: 0,
  ...changes,
})
const kept = { restart: true, exposed: false }
const once = { restart: false, exposed: false }

test('an instance unchanged since the last check is healthy, regardless of earlier restarts', () => {
  expect(problemIn(instance(), kept, undefined)).toBeNull()
  expect(problemIn(instance({ restarts: 7 }), kept, undefined)).toBeNull()
  expect(problemIn(instance({ restarts: 7 }), kept, 7)).toBeNull()
})

test('an instance that keeps exiting is reported with its exit code or memory, also if it runs during the check', () => {
  const between = instance({ state: 'restarting', exitCode: 3, restarts: 4 })
  expect(problemIn(between, kept, 4)).toEqual({ reason: 'the process keeps crashing (exit code 3, 4 restarts)' })
  expect(problemIn({ ...between, outOfMemory: true }, kept, 4)?.reason).toBe(
    'the process keeps crashing (out of memory, 4 restarts)',
  )
  expect(problemIn(instance({ restarts: 5 }), kept, 4)).toEqual({ reason: 'the process keeps crashing (5 restarts)' })
})

test('an instance that is gone or was stopped from outside is started again', () => {
  expect(problemIn(undefined, kept, undefined)).toMatchObject({ isGone: true })
  expect(problemIn(instance({ state: 'exited', exitCode: 137 }), kept, 0)).toEqual({
    reason: 'the process exited (code 137)',
    isGone: true,
  })
  expect(problemIn(instance({ networkLost: true }), kept, 0)).toEqual({ reason: 'its Docker network was removed', isGone: true })
})

test('an instance with the restart policy "no" may exit with success, and is not restarted after a failure', () => {
  expect(problemIn(instance({ state: 'exited', exitCode: 0 }), once, 0)).toBeNull()
  expect(problemIn(instance({ state: 'exited', exitCode: 1 }), once, 0)).toEqual({
    reason: 'ended (exit code 1). It is not restarted: its restart policy is "no".',
    isGone: false,
  })
  // Exit code 0 is a problem for an instance that should keep running.
  expect(problemIn(instance({ state: 'exited', exitCode: 0 }), kept, 0)).toMatchObject({ isGone: true })
})

test('unhealthy is reported from the third problem in a row, and healthy after it was unhealthy', () => {
  const problem = { reason: 'it answered 500' }
  expect([1, 2, 3, 4].map((count) => actionFor(problem, count, 'healthy'))).toEqual([null, null, 'unhealthy', 'unhealthy'])
  expect(actionFor(problem, 9, 'unhealthy')).toBeNull()
  expect(actionFor(null, 0, 'unhealthy')).toBe('healthy')
  expect(actionFor(null, 0, 'healthy')).toBeNull()
  expect(actionFor({ reason: 'the container was removed', isGone: true }, 1, 'healthy')).toBe('start again')
})

test('a few healthy instances are checked twice a minute, a hundred once, more every other minute', () => {
  expect([1, 20, 100, 150, 10_000].map((count) => maxIntervalFor(count))).toEqual([30_000, 30_000, 60_000, 90_000, 120_000])
})
