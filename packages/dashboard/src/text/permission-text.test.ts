import { permissions } from '@berth/contract'
import { expect, test } from 'vitest'
import { permissionGroups, scopeHints } from './permission-text.ts'

test('every scope is offered once, with what it allows', () => {
  const offered = permissionGroups.flatMap(({ scopes }) => scopes.map(([scope]) => scope))
  expect([...offered].sort()).toEqual([...permissions].sort())
})

test('a scope that is useless alone says which one it needs', () => {
  expect(scopeHints(['project:read'])).toEqual([expect.stringContaining('Add project:list')])
  expect(scopeHints(['project:read', 'project:list'])).toEqual([])
  expect(scopeHints(['project:write', 'project:list'])).toHaveLength(2)
})
