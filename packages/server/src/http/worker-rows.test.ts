import { table } from '@berth/contract'
import { expect, test } from 'vitest'
import { exceptedRows, isWorkerRow } from './worker-rows.ts'

test('every excepted row exists', () => {
  const rows = new Set(table.map(({ module, name }) => `${module}.${name}`))
  expect(exceptedRows.filter(({ module, name }) => !rows.has(`${module}.${name}`))).toEqual([])
})

test.each([
  ['access', 'login', false],
  ['access', 'createInvitation', true],
  ['instance', 'health', false],
  ['notifications', 'testChannel', true],
  ['projects', 'list', true],
  ['backups', 'checkDestination', true],
] as const)('%s.%s is answered by the worker: %s', (module, name, isForwarded) => {
  expect(isWorkerRow(module, name)).toBe(isForwarded)
})
