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

test('a failed installation of packages names unset variables only if its output does', () => {
  const unset = unsetVariables(example, {})
  const failed = (line: string) =>
    new DeployFailed('build_command_failed', '`npm ci` ended with exit code 1: github.com could not be found in DNS', [line])
  expect(withUnsetVariables(failed('gyp ERR! not ok'), unset, ['npm ci']).message).not.toContain('.env.example')
  expect(withUnsetVariables(failed('DATABASE_URL is not set'), unset, ['npm ci']).message).toContain('.env.example')
  expect(withUnsetVariables(failed('boom'), unset, ['npm install']).message).toContain('.env.example')
})
