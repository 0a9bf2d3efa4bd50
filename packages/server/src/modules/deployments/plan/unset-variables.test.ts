import { expect, test } from 'vitest'
import { DeployFailed } from '../deploy-failed.ts'
import { unsetVariables, withUnsetVariables } from './unset-variables.ts'

const example = {
  file: '.env.example',
  variables: [
    { key: 'DATABASE_URL', value: '' },
    { key: 'SESSION_SECRET', value: 'change-me' },
  ],
}

test('a failed start or build names unset variables of the template; other failures do not', () => {
  const unset = unsetVariables(example, { SESSION_SECRET: 'x' })
  expect(unset).toEqual({ file: '.env.example', names: ['DATABASE_URL'] })
  const crash = new DeployFailed('crashed', 'The new version exited with code 1', ['boom'])
  expect(withUnsetVariables(crash, unset)).toMatchObject({
    code: 'crashed',
    message:
      'The new version exited with code 1. .env.example names variables that are not set: DATABASE_URL. Set them with berth env set, then deploy again',
    logTail: ['boom'],
  })
  const other = new DeployFailed('source_failed', 'The folder does not exist any more')
  expect(withUnsetVariables(other, unset)).toBe(other)
  expect(unsetVariables(example, { DATABASE_URL: '', SESSION_SECRET: '' })).toBeUndefined()
  expect(unsetVariables(undefined, {})).toBeUndefined()
})
