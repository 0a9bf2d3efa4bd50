import { expect, test } from 'vitest'
import { statusLabel, toneOf } from '../text/status-text.ts'
import { domainActions, domainReason, domainStatus, isLoopbackRecord, loopbackHint, recordStatus } from './domain-actions.ts'

const works = { pointsHere: true, tls: 'active' } as const

test.each([
  ['the free host name', { ...works, kind: 'free', verified: true, primary: false }, ['canBePrimary']],
  ['the free host name as primary', { ...works, kind: 'free', verified: true, primary: true }, []],
  ['an unverified domain', { ...works, kind: 'custom', verified: false, primary: true }, ['canRemove', 'showsRecords']],
  ['a verified domain', { ...works, kind: 'custom', verified: true, primary: false }, ['canBePrimary', 'canRemove']],
  [
    'a verified domain that leads elsewhere',
    { kind: 'custom', verified: true, primary: true, pointsHere: false, tls: 'none' },
    ['canRemove', 'showsRecords'],
  ],
  [
    'a verified domain behind a proxy',
    { kind: 'custom', verified: true, primary: true, pointsHere: false, tls: 'active' },
    ['canRemove'],
  ],
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

test('the status of a record comes from the check for its type', () => {
  expect(['TXT', 'A'].map((type) => recordStatus(type, { verified: true, pointsHere: false }))).toEqual(['found', 'missing'])
  expect(['TXT', 'CNAME'].map((type) => recordStatus(type, { verified: false, pointsHere: null }))).toEqual([
    'missing',
    'unknown',
  ])
})

test('for a waiting domain the reason is its first sentence only', () => {
  const reason = 'Served, but not verified. Create the TXT record.'
  const waiting = { kind: 'custom', primary: true, verified: false, pointsHere: null, tls: 'none', reason } as const
  expect(domainReason(waiting)).toBe('Served, but not verified.')
  expect(domainReason({ ...waiting, verified: true })).toBe(reason)
  expect(domainReason({ ...waiting, reason: null })).toBeNull()
})

test('records that lead other machines to themselves have a hint', () => {
  const hint = '127.0.0.1 is reachable only from this machine. Set BERTH_PUBLIC_ADDRESS to the public address of the server'
  expect(loopbackHint({ reason: `Served, but not verified. Create the A record. ${hint}` })).toBe(hint)
  expect(loopbackHint({ reason: 'Served, but not verified.' })).toBeNull()
  expect(loopbackHint({ reason: null })).toBeNull()
  expect(['127.0.0.1', '127.0.0.11'].map((value) => isLoopbackRecord(value, hint))).toEqual([true, false])
  expect(isLoopbackRecord('127.0.0.1', null)).toBe(false)
})
