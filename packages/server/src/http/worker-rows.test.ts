import { table } from '@berth/contract'
import { expect, test } from 'vitest'
import { isWorkerRow, namedRows } from './worker-rows.ts'

test('every named row exists', () => {
  const rows = new Set(table.map(({ module, name }) => `${module}.${name}`))
  expect(namedRows.filter((name) => !rows.has(name))).toEqual([])
})

test.each([
  ['access', 'login', false],
  ['access', 'createInvitation', true],
  ['instance', 'health', false],
  ['notifications', 'testChannel', true],
  ['projects', 'list', false],
  ['projects', 'logs', true],
  ['projects', 'create', true],
  ['projects', 'changeEnv', false],
  ['backups', 'checkDestination', true],
] as const)('%s.%s is answered by the worker: %s', (module, name, isForwarded) => {
  expect(isWorkerRow(module, name)).toBe(isForwarded)
})
