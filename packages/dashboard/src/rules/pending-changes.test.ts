import { expect, test } from 'vitest'
import { pendingWords } from './pending-changes.ts'

test('settings that wait are named, with the one step that applies them', () => {
  expect(pendingWords({ pendingChanges: [], type: 'app' })).toBeUndefined()
  expect(pendingWords({ type: 'app' })).toBeUndefined()
  expect(pendingWords({ pendingChanges: ['env', 'resources'], type: 'app' })).toEqual({
    action: 'restart',
    text: 'Environment variables and resources were changed since the live deployment was made. Restart to apply them. No build is needed.',
  })
  expect(pendingWords({ pendingChanges: ['config', 'env'], type: 'app' })?.action).toBe('deploy')
  expect(pendingWords({ pendingChanges: ['source'], type: 'app' })).toEqual({
    action: 'deploy',
    text: 'The source was changed since the live deployment was made. Deploy to apply it.',
  })
  expect(pendingWords({ pendingChanges: ['env'], type: 'static' })?.action).toBe('deploy')
})
