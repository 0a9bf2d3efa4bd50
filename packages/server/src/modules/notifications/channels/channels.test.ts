import { describe, expect, test } from 'vitest'
import { verifiedAfter } from './channels.ts'

describe('verified after a change of a channel', () => {
  test.each([
    // kind, verified before, config changed, requested → after
    ['in_app', 1, true, false, true],
    ['in_app', 1, false, false, true],
    ['email', 1, true, undefined, false],
    ['email', 1, true, true, false],
    ['email', 0, true, true, true],
    ['email', 0, true, false, false],
    ['email', 0, true, undefined, false],
    ['webhook', 0, false, true, true],
    ['webhook', 1, false, false, false],
    ['slack', 1, false, undefined, true],
    ['slack', 0, false, undefined, false],
  ] as const)(
    '%s, verified %s, config changed %s, verified sent as %s: %s',
    (kind, verified, configChanged, requested, after) => {
      expect(verifiedAfter({ kind, verified }, { configChanged, requested })).toBe(after)
    },
  )
})
