import { expect, test } from 'vitest'
import { settingChanges, variableChanges } from './changes.ts'

test('variables are compared by value and listed by name only', () => {
  expect(variableChanges({ A: '1', B: '2', C: '3' }, { B: '2', C: '4', D: '5' })).toEqual({
    added: ['D'],
    changed: ['C'],
    removed: ['A'],
  })
  expect(variableChanges(undefined, {})).toBeNull()
})

test('settings are compared as a whole, and only scalar values are shown', () => {
  const before = { port: 3000, buildCommand: null, services: [{ environment: { KEY: 'secret' } }], type: 'app' }
  const after = { port: 8080, buildCommand: undefined, services: [], type: 'app', framework: 'next' }
  expect(settingChanges(before, after)).toEqual([
    { name: 'framework', from: null, to: 'next' },
    { name: 'port', from: '3000', to: '8080' },
    { name: 'services', from: null, to: null },
  ])
})
