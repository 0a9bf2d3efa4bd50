import { expect, test } from 'vitest'
import { lastErrorOf } from './last-error.ts'

const error = { code: 'build_failed', message: 'The build failed', logTail: [] }

test('a failed deployment, or else an unhealthy project, has an error to show', () => {
  expect(lastErrorOf({ status: 'live', statusReason: null }, { status: 'failed', error })).toBe('The build failed')
  expect(lastErrorOf({ status: 'unhealthy', statusReason: 'The app exited' }, { status: 'live', error: null })).toBe(
    'The app exited',
  )
  expect(lastErrorOf({ status: 'sleeping', statusReason: 'No requests' }, { status: 'live', error: null })).toBeUndefined()
})
