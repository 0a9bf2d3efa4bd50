import { expect, test } from 'vitest'
import { healthCheckOf, healthForm } from './health-form.ts'

test('a stored health check survives the form, and an emptied field is removed', () => {
  const stored = { path: '/up', timeoutSeconds: 30, intervalSeconds: 2, acceptErrors: true }
  expect(healthCheckOf(healthForm(stored))).toEqual(stored)
  expect(healthCheckOf({ ...healthForm(stored), path: '', acceptErrors: false })).toEqual({
    timeoutSeconds: 30,
    intervalSeconds: 2,
  })
  expect(healthCheckOf(healthForm(null))).toBeNull()
})
