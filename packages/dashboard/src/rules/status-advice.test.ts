import { expect, test } from 'vitest'
import { aliveText, statusAdvice } from './status-advice.ts'

test('the failure of a first deployment does not claim that a version is live', () => {
  const failed = { status: 'failed', statusReason: null } as const
  expect(statusAdvice(failed, { hasLiveVersion: false })).toMatchObject({ title: 'The first deployment failed' })
  expect(statusAdvice(failed, { hasLiveVersion: false })?.text).toContain(aliveText(false))
  expect(statusAdvice(failed, { hasLiveVersion: true })?.text).toContain('The previous version is still live.')
})

test('a live project reports that its last deployment failed, and nothing if a deployment was cancelled', () => {
  const advise = (statusReason: string) => statusAdvice({ status: 'live', statusReason }, { hasLiveVersion: true })
  expect(advise('Deployment 2 failed: exit code 1; deployment 1 is still live')).toEqual({
    title: 'The last deployment failed',
    text: 'Deployment 2 failed: exit code 1; deployment 1 is still live.',
    isBad: true,
    hasFailedDeployment: true,
  })
  expect(advise('Deployment 2 was cancelled; deployment 1 is still live')).toBeUndefined()
})
