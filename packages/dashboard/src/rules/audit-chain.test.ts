import type { AuditEntry } from '@berth/contract'
import { expect, test } from 'vitest'
import { hashOf } from '../../../server/src/modules/access/audit-log.ts'
import { checkChain } from './audit-chain.ts'

/** Entries as the server makes them, newest first. */
function chain(count: number): AuditEntry[] {
  let previousHash = '0'.repeat(64)
  const made = Array.from({ length: count }, (_, index) => {
    const at = Date.parse('2026-01-01T00:00:00Z') + index
    const rest = {
      action: 'POST /projects',
      userId: 'u',
      tokenId: null,
      ip: '127.0.0.1',
      objectKind: 'project',
      objectId: 'p',
      requestId: 'r',
    }
    const changes = { name: `project ${index}` }
    const id = `aud_${index}`
    const hash = hashOf({
      ...rest,
      id,
      organizationId: 'org',
      sequence: index + 1,
      at,
      changes: JSON.stringify(changes),
      previousHash,
    })
    const entry = { ...rest, id, at: new Date(at).toISOString(), userEmail: null, changes, previousHash, hash }
    previousHash = hash
    return entry
  })
  return made.reverse()
}

test('a chain of the server is valid', async () => {
  expect(await checkChain(chain(5), 'org')).toEqual({ state: 'intact', entries: 5, includesFirstEntry: true })
})

test('a changed and a removed entry are detected', async () => {
  const changed = chain(5)
  changed[2] = { ...changed[2]!, changes: { name: 'another' } }
  expect(await checkChain(changed, 'org')).toMatchObject({
    state: 'broken',
    at: { id: 'aud_2' },
    why: expect.stringContaining('content'),
  })
  const cut = chain(5).filter(({ id }) => id !== 'aud_3')
  expect(await checkChain(cut, 'org')).toMatchObject({ state: 'broken', at: { id: 'aud_4' } })
})

test('a part of the chain is checked by its links', async () => {
  expect(await checkChain(chain(5).slice(0, 3), 'org')).toEqual({ state: 'intact', entries: 3, includesFirstEntry: false })
})
