import { expect, test } from 'vitest'
import { pendingText } from './pending-changes.ts'

test('pending changes are named with the action that applies them', () => {
  expect(pendingText({ pendingChanges: [], type: 'app' })).toBeUndefined()
  expect(pendingText({ type: 'app' })).toBeUndefined()
  expect(pendingText({ pendingChanges: ['env', 'resources'], type: 'app' })).toEqual({
    action: 'restart',
    text: 'Environment variables and resources were changed since the live deployment was made. Restart to apply them. No build is needed.',
  })
  expect(pendingText({ pendingChanges: ['config', 'env'], type: 'app' })?.action).toBe('deploy')
  expect(pendingText({ pendingChanges: ['source'], type: 'app' })).toEqual({
    action: 'deploy',
    text: 'The source was changed since the live deployment was made. Deploy to apply it.',
  })
  expect(pendingText({ pendingChanges: ['env'], type: 'static' })?.action).toBe('deploy')
})
