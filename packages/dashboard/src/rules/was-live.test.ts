import { expect, test } from 'vitest'
import { wasEnvironmentLive, wasLive } from './was-live.ts'

test('a project was live unless its first deployment is missing, in progress or failed', () => {
  const statusReason = null
  expect((['created', 'building', 'failed'] as const).map((status) => wasLive({ status, statusReason }))).toEqual([
    false,
    false,
    false,
  ])
  expect((['live', 'sleeping', 'stopped'] as const).map((status) => wasLive({ status, statusReason }))).toEqual([
    true,
    true,
    true,
  ])
  expect(wasLive({ status: 'building', statusReason: 'Deployment 2 is running; deployment 1 is still live' })).toBe(true)
})

test('an environment was live if one of its deployments is', () => {
  const deployments = [
    { environment: 'production', status: 'live' },
    { environment: 'preview', status: 'failed' },
  ] as const
  expect(wasEnvironmentLive('production', deployments)).toBe(true)
  expect(wasEnvironmentLive('preview', deployments)).toBe(false)
})
