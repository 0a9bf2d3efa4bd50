import { describe, expect, test } from 'vitest'
import { type Candidate, channelsToNotify, isOnByDefault, lacksFeed } from './audience.ts'

const channel = (id: string, changes: Partial<Candidate> = {}): Candidate => ({
  id,
  kind: 'email',
  enabled: true,
  verified: true,
  subscribed: null,
  ...changes,
})
const ids = (channels: readonly Candidate[], onByDefault: boolean) => channelsToNotify(channels, onByDefault).map(({ id }) => id)

describe('the default of the organisation overrides that of the category', () => {
  test.each([
    ['deploy.failed', undefined, true],
    ['deploy.failed', false, false],
    ['deploy.succeeded', undefined, false],
    ['deploy.succeeded', true, true],
  ] as const)('%s with %s: %s', (category, ofOrganization, expected) => {
    expect(isOnByDefault(category, ofOrganization)).toBe(expected)
  })
})

describe('the channels of a user that are notified', () => {
  const mine = [
    channel('bell', { kind: 'in_app' }),
    channel('mail'),
    channel('hook', { kind: 'webhook' }),
    channel('chat', { kind: 'slack' }),
  ]
  test('by default in_app and e-mail channels are notified, webhook and chat channels are not', () => {
    expect(ids(mine, true)).toEqual(['bell', 'mail'])
    expect(ids(mine, false)).toEqual([])
  })
  test.each([true, false])('a subscription decides for its channel, with the default on or off (%s)', (onByDefault) => {
    const on = mine.map((one) => ({ ...one, subscribed: true }))
    const off = mine.map((one) => ({ ...one, subscribed: false }))
    expect(ids(on, onByDefault)).toEqual(['bell', 'mail', 'hook', 'chat'])
    expect(ids(off, onByDefault)).toEqual([])
  })
  test('a subscription of one channel does not affect another', () => {
    expect(ids([channel('a', { subscribed: false }), channel('b')], true)).toEqual(['b'])
    expect(ids([channel('hook', { kind: 'webhook', subscribed: true }), channel('b')], true)).toEqual(['hook', 'b'])
  })
  test('unverified and disabled channels are never notified, subscribed or not', () => {
    for (const state of [{ enabled: false }, { verified: false }])
      for (const subscribed of [null, true]) expect(ids([channel('a', { ...state, subscribed })], true)).toEqual([])
  })
  test('the default reaches one in_app channel: the oldest that is in use', () => {
    const bells = [
      channel('off', { kind: 'in_app', enabled: false }),
      channel('one', { kind: 'in_app' }),
      channel('two', { kind: 'in_app' }),
    ]
    expect(ids(bells, true)).toEqual(['one'])
  })
})

describe('an in_app channel for every user', () => {
  test('a user without an in_app channel gets one if the default sends to it', () => {
    expect(lacksFeed([channel('mail')], true)).toBe(true)
    expect(lacksFeed([], true)).toBe(true)
    expect(lacksFeed([], false)).toBe(false)
  })
  test('a user who disabled the in_app channel does not get another', () => {
    expect(lacksFeed([channel('bell', { kind: 'in_app', enabled: false })], true)).toBe(false)
  })
})
