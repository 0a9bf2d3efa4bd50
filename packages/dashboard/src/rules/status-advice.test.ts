import { expect, test } from 'vitest'
import { aliveText, statusAdvice } from './status-advice.ts'

test('the failure of a first deployment does not claim that a version is live', () => {
  const failed = { status: 'failed', statusReason: null } as const
  expect(statusAdvice(failed, { hasLiveVersion: false })).toMatchObject({ title: 'The first deployment failed' })
  expect(statusAdvice(failed, { hasLiveVersion: false })?.text).toContain(aliveText(false))
  expect(statusAdvice(failed, { hasLiveVersion: true })?.text).toContain('The previous version is still live.')
})
