import { expect, test } from 'vitest'
import { statusLabel, toneOf } from '../text/status-text.ts'
import { domainActions, domainStatus } from './domain-actions.ts'

test.each([
  ['the free host name', { kind: 'free', verified: true, primary: false }, ['canBePrimary']],
  ['the free host name as primary', { kind: 'free', verified: true, primary: true }, []],
  ['an unverified domain', { kind: 'custom', verified: false, primary: true }, ['canVerify', 'canRemove', 'showsRecords']],
  ['a verified domain', { kind: 'custom', verified: true, primary: false }, ['canBePrimary', 'canRemove']],
] as const)('actions of %s', (_, domain, expected) => {
  const offered = Object.entries(domainActions(domain)).filter(([, isOffered]) => isOffered)
  expect(offered.map(([name]) => name)).toEqual(expected)
})

test.each([
  [{ state: 'waiting', verified: false }, 'Waiting for DNS', 'warn'],
  [{ state: 'waiting', verified: true }, 'waiting', 'warn'],
  [{ state: 'active', verified: true }, 'active', 'good'],
  [{ state: 'error', verified: false }, 'error', 'bad'],
] as const)('%o is shown as %s', (domain, word, tone) => {
  const status = domainStatus(domain)
  expect([statusLabel(status), toneOf(status)]).toEqual([word, tone])
})
